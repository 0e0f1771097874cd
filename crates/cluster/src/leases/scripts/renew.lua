-- Lets leases of a job begin anew. O(k log n) for k leases, in three calls.
-- ARGV: name, then for each an entry, a worker and a delivery
local j = keys(ARGV[1])
local entries, owners = {}, {}
for i = 2, #ARGV, 3 do
  entries[#entries + 1] = ARGV[i]
  owners[#owners + 1] = ARGV[i + 1] .. ' ' .. ARGV[i + 2]
end
local found = redis.call('HMGET', j.holders, unpack(entries))
local until_when, good, renewed = now() + (redis.call('HGET', j.job, 'lease') or 0), {}, {}
for i = 1, #entries do
  good[i] = 0
  if found[i] == owners[i] then
    good[i] = 1
    renewed[#renewed + 1] = until_when
    renewed[#renewed + 1] = entries[i]
  end
end
if #renewed > 0 then
  must_not_fail()
  redis.call('ZADD', j.leases, unpack(renewed))
end
return good
