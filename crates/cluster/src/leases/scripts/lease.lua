-- Leases some tasks. O(k log n) for k tasks. Returns them, and the milliseconds until the worker
-- should look for delayed tasks, or -1. The more workers there are the longer each waits, so that
-- only a few look in time, as for expired leases.
-- ARGV: worker, build, most tasks, 1 if one may be a suspect, a stride
local worker, build, most, suspect, stride = unpack(ARGV)
must_not_fail()
local leases, later = take(worker, build, tonumber(most), suspect == '1', stride)
if not later then
  return { leases, -1 }
end
return { leases, math.ceil(later * math.max(1, redis.call('ZCARD', WORKERS) / 4)) }
