-- Ends a job. ARGV: name, 1 if it is to be forgotten
local state = redis.call('HGET', JOB, 'state')
if state == 'running' then
  state = 'cancelled'
  redis.call('DEL', RESULTS)
  finish(state)
end
if ARGV[2] == '1' then
  redis.call('DEL', JOB, RESULTS, ASIDE, SHARES)
end
return state
