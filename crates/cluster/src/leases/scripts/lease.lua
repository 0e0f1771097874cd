-- Leases some tasks. O(k log n) for k tasks.
-- ARGV: worker, build, at most so many, 1 if one may be a suspect
local worker, build, most, suspect = unpack(ARGV)
must_not_fail()
return take(worker, build, tonumber(most), suspect == '1')
