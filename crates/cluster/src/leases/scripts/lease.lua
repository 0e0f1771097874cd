-- Leases some tasks. O(k log n) for k tasks. Gives them, and in how many milliseconds to look for
-- delayed tasks, or -1. Of many workers a few look in time, as for leases that run out.
-- ARGV: worker, build, at most so many, 1 if one may be a suspect, a stride
local worker, build, most, suspect, stride = unpack(ARGV)
must_not_fail()
local leases, later = take(worker, build, tonumber(most), suspect == '1', stride)
if not later then
  return { leases, -1 }
end
return { leases, math.ceil(later * math.max(1, redis.call('ZCARD', WORKERS) / 4)) }
