-- Lets leases of a job begin anew. O(k log n) for k leases.
-- ARGV: name of the job, then for each an entry, a worker and a delivery
must_not_fail()
return renew(ARGV[1], 2, (now()), nil)
