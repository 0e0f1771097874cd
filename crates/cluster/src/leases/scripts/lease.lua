-- Leases some tasks. O(k log n) for k tasks. Gives them, and in how many milliseconds to look for
-- delayed tasks, or -1.
-- ARGV: worker, build, at most so many, 1 if one may be a suspect
local worker, build, most, suspect = unpack(ARGV)
must_not_fail()
local leases, at = take(worker, build, tonumber(most), suspect == '1')
return { leases, next_later(build, at) }
