-- Ends a job. O(1): its keys are freed by another thread. ARGV: name, 1 if it is to be forgotten
local j = keys(ARGV[1])
local state = redis.call('HGET', j.job, 'state')
if state == 'running' then
  must_not_fail()
  state = 'cancelled'
  redis.call('UNLINK', j.results)
  finish(j, state)
end
if ARGV[2] == '1' then
  redis.call('UNLINK', j.job, j.results, j.aside, j.shares, j.fingerprints, j.deferred, j.inputs)
end
return state
