-- Replaces the first results by their combination, if they still are the first. O(k) for k results
-- and their bytes.
-- ARGV: name, number of results, their fingerprint, their combination...
local j = keys(ARGV[1])
local count = tonumber(ARGV[2])
local first = redis.call('LRANGE', j.results, 0, count - 1)
for i = 1, #first do
  first[i] = #first[i] .. ':' .. first[i]
end
if #first ~= count or redis.sha1hex(table.concat(first)) ~= ARGV[3] then
  return 0
end
-- Add before removing: a list that becomes empty is deleted, together with its expiry.
for i = 4, #ARGV do
  redis.call('RPUSH', j.results, ARGV[i])
end
redis.call('LTRIM', j.results, count, -1)
return 1
