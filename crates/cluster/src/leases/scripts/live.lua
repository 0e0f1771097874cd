-- A worker is alive, and its leases of a job begin anew. O(log w + k log n) for k leases.
-- ARGV: name, for so long, slots, build, name of the job, then for each an entry, a worker and a
-- delivery
must_not_fail()
local slots, workers, at = alive(unpack(ARGV, 1, 4))
return { { slots, workers }, renew(ARGV[5], 6, at, workers) }
