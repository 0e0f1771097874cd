-- Before every script. A job has these keys; every script gets them all, and the job's name.
local JOB, TASKS, RESULTS, ASIDE, SHARES, OVER, RUNNING = unpack(KEYS)
local ID = ARGV[1]
local GROUP = 'workers'

local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Has the server lost the tasks of a job that is in this state? No script leaves a running job without its stream and group: they
-- were deleted by hand, or thrown away when memory was short.
local function lost(state)
  return state == 'running' and redis.pcall('XPENDING', TASKS, GROUP).err ~= nil
end

-- When the workers came back, if all of them were away; so they are, too, for a server that was away itself. Until then nobody could
-- renew a lease, and that one ran out says nothing about its worker.
local function returned(workers, since, at)
  if redis.call('ZCOUNT', workers, at, '+inf') > 0 then
    return tonumber(redis.call('GET', since)) or 0
  end
  -- A server whose memory is short refuses this, and to be told who is alive: there leases run out as ever.
  if redis.pcall('SET', since, at).err then
    return 0
  end
  return at
end

-- Is this the last delivery of the entry, and to this worker?
local function held(entry, worker, delivery)
  if redis.call('EXISTS', TASKS) == 0 then
    return false
  end
  local found = redis.call('XPENDING', TASKS, GROUP, entry, entry, 1)[1]
  return found and found[2] == worker and found[4] == tonumber(delivery)
end

-- The task in an entry, and how many tries it had under earlier numbers. No entry: nothing at all.
local function read(entry)
  local found = redis.call('XRANGE', TASKS, entry, entry)[1]
  if not found then
    return nil, nil
  end
  local task, before = false, 0
  for i = 1, #found[2], 2 do
    if found[2][i] == 't' then
      task = found[2][i + 1]
    elseif found[2][i] == 'n' then
      before = tonumber(found[2][i + 1]) or 0
    end
  end
  return task, before
end

-- The job is over. It is remembered for a while.
local function finish(state)
  redis.call('DEL', TASKS)
  redis.call('HSET', JOB, 'state', state, 'ended', now())
  redis.call('HDEL', RUNNING, ID)
  redis.call('XADD', OVER, '*', 'state', state)
  local keep = redis.call('HGET', JOB, 'keep')
  for _, key in ipairs({ JOB, RESULTS, ASIDE, SHARES, OVER }) do
    redis.call('PEXPIRE', key, keep)
  end
end

-- Takes an entry away. The last one ends the job.
local function remove(entry)
  redis.call('XACK', TASKS, GROUP, entry)
  redis.call('XDEL', TASKS, entry)
  local left = redis.call('XLEN', TASKS)
  if left == 0 then
    finish('done')
  end
  return left
end

-- Takes an entry away because nobody can do it. All are counted. Of the first ones the first bytes are kept to be looked at: of a
-- program that fails everywhere there may be millions.
local function set_aside(entry, task, attempts, reason)
  if redis.call('HINCRBY', JOB, 'aside', 1) <= 1000 then
    local kept = string.sub(task or '', 1, 4096)
    redis.call('XADD', ASIDE, '*', 'entry', entry, 'attempts', attempts, 'reason', reason, 'task', kept)
  end
  remove(entry)
end
