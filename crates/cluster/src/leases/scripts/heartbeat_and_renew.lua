-- Notes that a worker is alive, and renews its leases of a job. O(log w + k log n) for k leases.
-- ARGV: name, time for which it counts, slots, build, name of the job, then for each lease an
-- entry, a worker and a delivery
must_not_fail()
local slots, workers, at = alive(unpack(ARGV, 1, 4))
return { { slots, workers }, renew(ARGV[5], 6, at, workers) }
