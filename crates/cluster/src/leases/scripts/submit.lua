-- Adds a job, or a chunk of its first tasks, unless it is there. O(k) for k tasks.
-- ARGV: name, build, program, chunk, 1 if it is the last, fingerprint, lease, tries, keep, limit of
-- tasks, of children, of results, 1 if the job is urgent, its delay, 1 if these tasks are urgent,
-- tasks...
local id, build, program, chunk, last, fingerprint, lease, tries, keep = unpack(ARGV, 1, 9)
local task, children, result, job_urgent, delay, urgent = unpack(ARGV, 10, 15)
local j = keys(id)
chunk = tonumber(chunk)
local there = redis.call('HMGET', j.job, 'build', 'program', 'state', 'sealed', 'submitted')
local new = not there[1] or lost(j, there[3], there[4])
local submitted = there[5]
if new then
  if chunk > 0 then
    return 'vanished'
  end
  -- No other job has this time, so it tells apart jobs of the same name.
  submitted = math.max(now(), (tonumber(redis.call('HGET', CLOCK, 'submitted')) or 0) + 1)
  -- Begin with a change that needs memory: the server refuses none after the first.
  redis.call('HSET', RUNNING, id, build .. ' ' .. submitted)
  redis.call('HSET', CLOCK, 'submitted', submitted)
  redis.call('UNLINK', j.job, j.tasks, j.tries, j.steps, j.waiting, j.urgent, j.suspects, j.later,
    j.urgent_entries, j.leases, j.holders, j.holding, j.results, j.aside, j.shares,
    j.fingerprints, j.over, j.deferred, j.inputs)
  redis.call('HSET', j.job, 'build', build, 'program', program, 'lease', lease, 'tries', tries,
    'keep', keep, 'task', task, 'children', children, 'result', result, 'state', 'running',
    'submitted', submitted, 'sealed', '0', 'urgent', job_urgent, 'delay', delay)
  redis.call('ZADD', DUE, submitted + lease, id)
else
  if there[1] ~= build or there[2] ~= program then
    return 'taken'
  end
  local chunks = redis.call('LLEN', j.fingerprints)
  if chunk < chunks then
    local ends = there[4] == '1' and chunk + 1 == chunks
    local same = redis.call('LINDEX', j.fingerprints, chunk) == fingerprint
      and (there[4] ~= '1' or ends == (last == '1'))
    return same and (there[3] == 'running' and 'attached' or there[3]) or 'taken'
  end
  if there[4] == '1' then
    return 'taken'
  end
  if chunk > chunks then
    -- The server had the chunks in between, and has lost them.
    return 'vanished'
  end
  if there[3] ~= 'running' then
    -- It was cancelled before it was complete.
    return there[3]
  end
end
redis.call('RPUSH', j.fingerprints, fingerprint)
local count, due = counts(), submitted + delay
local delayed = tonumber(delay) > 0 and due > now()
for i = 16, #ARGV do
  local entry = add(j, submitted, ARGV[i], job_urgent == '1' and '1' or urgent)
  if delayed then
    line_up_later(j, entry, 0, due, count)
  else
    line_up(j, entry, 0, tonumber(tries), count)
  end
end
redis.call('HSET', j.job, 'sealed', last)
announce(j, build, count)
tidy(j, last)
return new and 'new' or 'attached'
