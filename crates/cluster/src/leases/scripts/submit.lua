-- Adds a job, or a chunk of its first tasks, unless it is there. O(k) for k tasks.
-- ARGV: name, build, program, chunk, 1 if it is the last one, print, lease, tries, keep, limit of tasks, of children, of results,
-- tasks...
local id, build, program, chunk, last, print, lease, tries, keep, task, children, result = unpack(ARGV, 1, 12)
local j = keys(id)
chunk = tonumber(chunk)
local there = redis.call('HMGET', j.job, 'build', 'program', 'state', 'sealed', 'submitted')
local new = not there[1] or lost(j, there[3], there[4])
local submitted = there[5]
if new then
  if chunk > 0 then
    return 'vanished'
  end
  submitted = now()
  -- What needs memory comes first: from the first change on the server does not refuse any more.
  redis.call('HSET', RUNNING, id, build .. ' ' .. submitted)
  redis.call('UNLINK', j.job, j.tasks, j.tries, j.steps, j.waiting, j.suspects, j.leases, j.holders, j.holding,
    j.results, j.aside, j.shares, j.prints, j.over, j.deferred, j.inputs)
  redis.call('HSET', j.job, 'build', build, 'program', program, 'lease', lease, 'tries', tries, 'keep', keep,
    'task', task, 'children', children, 'result', result, 'state', 'running', 'submitted', submitted, 'sealed', '0')
  redis.call('ZADD', DUE, submitted + lease, id)
else
  if there[1] ~= build or there[2] ~= program then
    return 'taken'
  end
  local chunks = redis.call('LLEN', j.prints)
  if chunk < chunks then
    local ends = there[4] == '1' and chunk + 1 == chunks
    local same = redis.call('LINDEX', j.prints, chunk) == print and (there[4] ~= '1' or ends == (last == '1'))
    return same and (there[3] == 'running' and 'attached' or there[3]) or 'taken'
  end
  if there[4] == '1' or chunk > chunks then
    return 'taken'
  end
end
redis.call('RPUSH', j.prints, print)
for i = 13, #ARGV do
  redis.call('RPUSH', j.waiting, add(j, submitted, ARGV[i]))
end
redis.call('HSET', j.job, 'sealed', last)
announce(j, build, #ARGV - 12, 0)
tidy(j, last)
return new and 'new' or 'attached'
