-- Adds a job with its first tasks, unless it is there.
-- ARGV: name, build, program, print, lease, tries, keep, limit of tasks, of children, of results, tasks...
-- KEYS: those of the job, and the bell.
local BELL = KEYS[8]
local _, build, program, print, lease, tries, keep, task, children, result = unpack(ARGV, 1, 10)
local there = redis.call('HMGET', JOB, 'build', 'program', 'print', 'state')
if there[1] and not lost(there[4]) then
  local same = there[1] == build and there[2] == program and there[3] == print
  return same and 'attached' or 'taken'
end
-- What needs memory comes first: from the first change on the server does not refuse any more.
redis.call('HSET', RUNNING, ID, build)
redis.call('DEL', JOB, TASKS, RESULTS, ASIDE, SHARES, OVER)
redis.call('HSET', JOB, 'build', build, 'program', program, 'print', print, 'lease', lease, 'tries', tries, 'keep', keep,
  'task', task, 'children', children, 'result', result, 'state', 'running', 'submitted', now())
redis.call('XGROUP', 'CREATE', TASKS, GROUP, '0', 'MKSTREAM')
for i = 11, #ARGV do
  redis.call('XADD', TASKS, '*', 't', ARGV[i])
end
redis.call('XADD', BELL, 'MAXLEN', '~', 16, '*', 'job', ID)
if #ARGV == 10 then
  finish('done')
end
return 'new'
