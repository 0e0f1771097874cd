-- Lets leases begin anew.
-- ARGV: name, then for each an entry, a worker and a delivery
local good = {}
for i = 2, #ARGV, 3 do
  local entry, worker, delivery = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  if held(entry, worker, delivery) then
    redis.call('XCLAIM', TASKS, GROUP, worker, 0, entry, 'JUSTID')
    good[#good + 1] = 1
  else
    good[#good + 1] = 0
  end
end
return good
