-- Replaces the first results by their combination, if they still are the first.
-- ARGV: name, how many, their print, their combination
local _, count, print, combined = unpack(ARGV)
count = tonumber(count)
local first = redis.call('LRANGE', RESULTS, 0, count - 1)
for i = 1, #first do
  first[i] = #first[i] .. ':' .. first[i]
end
if #first ~= count or redis.sha1hex(table.concat(first)) ~= print then
  return 0
end
-- First in, then out: a list that gets empty is gone, with the time at which it is to be forgotten.
redis.call('RPUSH', RESULTS, combined)
redis.call('LTRIM', RESULTS, count, -1)
return 1
