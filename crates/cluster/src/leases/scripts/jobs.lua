-- Precedes every script about jobs, after the prelude.

-- Returns the time at which workers came back after all had been away, or the server had been.
-- Before that time no worker could renew a lease, so an expired lease does not mean that its worker
-- is dead. O(log w)
local function returned(at)
  if redis.call('ZCOUNT', WORKERS, at, '+inf') > 0 then
    return tonumber(redis.call('GET', RETURNED)) or 0
  end
  redis.call('SET', RETURNED, at)
  return at
end

-- Keys of a build. Sorted sets: jobs with waiting tasks, by their last turn (ready); the same for
-- urgent tasks and for suspects; jobs by when their next delayed task may be leased (later). A list
-- on which workers block (wake).
local function ready_of(build) return GLOBAL .. 'ready:' .. build end
local function urgent_of(build) return GLOBAL .. 'urgent:' .. build end
local function suspects_of(build) return GLOBAL .. 'suspects:' .. build end
local function later_of(build) return GLOBAL .. 'later:' .. build end
local function wake_of(build) return GLOBAL .. 'wake:' .. build end

-- Wakes up to this many workers, one for each element of the list. A worker that finds more tasks
-- than it can take wakes the next. O(1): at most 64
local function wake(build, count)
  local key = wake_of(build)
  for _ = redis.call('LLEN', key) + 1, math.min(count, 64) do
    redis.call('RPUSH', key, 1)
    redis.call('PEXPIRE', key, 3600000)
  end
end

-- Puts a job at the end of a set, after all other jobs. O(log j)
local function in_turn(set, id)
  redis.call('ZADD', set, redis.call('INCR', GLOBAL .. 'turn'), id)
end

-- Returns true if the server has lost the tasks of a job in this state. No script leaves a running,
-- sealed job without tasks: they were deleted by hand, or evicted when memory was short. O(1)
local function lost(j, state, sealed)
  return state == 'running' and sealed == '1' and redis.call('EXISTS', j.tasks) == 0
end

-- Returns true if this is the last delivery of the entry, and went to this worker. O(1)
local function held(j, entry, worker, delivery)
  return redis.call('HGET', j.holders, entry) == worker .. ' ' .. delivery
end

-- Counts of entries that were made to wait, by the names of the lists.
local function counts()
  return { waiting = 0, urgent = 0, suspects = 0, later = 0 }
end

-- Adds an entry to the list in which it waits. O(1)
local function line_up(j, entry, attempts, tries, count)
  local list = 'waiting'
  if attempts > 0 then
    redis.call('HSET', j.tries, entry, attempts)
    if attempts + 2 >= tries then
      list = 'suspects'
    end
  end
  if list == 'waiting' and redis.call('HEXISTS', j.urgent_entries, entry) == 1 then
    list = 'urgent'
  end
  redis.call('RPUSH', j[list], entry)
  count[list] = count[list] + 1
end

-- Adds a delayed entry, which may not be leased before `due`. O(log n)
local function line_up_later(j, entry, attempts, due, count)
  if attempts > 0 then
    redis.call('HSET', j.tries, entry, attempts)
  end
  redis.call('ZADD', j.later, due, entry)
  count.later = count.later + 1
end

-- Updates the time at which the next delayed task of a job may be leased. O(log n)
local function note_later(j, build)
  local first = redis.call('ZRANGE', j.later, 0, 0, 'WITHSCORES')[2]
  if first then
    redis.call('ZADD', later_of(build), first, j.id)
  else
    redis.call('ZREM', later_of(build), j.id)
  end
end

-- Announces new entries, and wakes workers for them. For delayed tasks one worker suffices: it
-- blocks until the first may be leased. O(log n)
local function announce(j, build, count)
  local sets = {
    waiting = ready_of(build), urgent = urgent_of(build), suspects = suspects_of(build),
  }
  for list, set in pairs(sets) do
    if count[list] > 0 and not redis.call('ZSCORE', set, j.id) then
      in_turn(set, j.id)
    end
  end
  if count.later > 0 then
    note_later(j, build)
  end
  wake(build, count.waiting + count.urgent + count.suspects + math.min(count.later, 1))
end

-- Creates an entry with this task. O(1)
local function add(j, submitted, task, urgent)
  local entry = submitted .. '-' .. redis.call('HINCRBY', j.job, 'entries', 1)
  redis.call('HSET', j.tasks, entry, task)
  if urgent == '1' then
    redis.call('HSET', j.urgent_entries, entry, 1)
  end
  return entry
end

-- Encodes a number as postcard does: 7 bits at a time, lowest first. O(1)
local function varint(number)
  local bytes = {}
  while number >= 128 do
    bytes[#bytes + 1] = string.char(number % 128 + 128)
    number = math.floor(number / 128)
  end
  bytes[#bytes + 1] = string.char(number)
  return table.concat(bytes)
end

-- Stores a deferred task. O(1)
local function defer(j, id, front, head, slots, urgent)
  redis.call('HSET', j.deferred, id, slots)
  if urgent == '1' then
    redis.call('HSET', j.inputs, id .. ' urgent', 1)
  end
  redis.call('HSET', j.inputs, id .. ' front', front, id .. ' head', head, id .. ' slots', slots)
end

-- Fills a slot, once. O(1)
local function fill(j, id, index, input)
  if redis.call('HEXISTS', j.deferred, id) == 1
      and redis.call('HSETNX', j.inputs, id .. ' ' .. index, input) == 1 then
    redis.call('HINCRBY', j.deferred, id, -1)
  end
end

-- Turns a deferred task into an entry if its slots are full. O(k) for k slots
local function undefer(j, submitted, id, tries, urgent, count)
  if redis.call('HGET', j.deferred, id) ~= '0' then
    return
  end
  local parts = { id .. ' front', id .. ' head', id .. ' slots', id .. ' urgent' }
  local made = redis.call('HMGET', j.inputs, unpack(parts))
  local argument, slots = { made[2] }, tonumber(made[3])
  -- A thousand slots per call: a group may have a million, and the server does nothing else
  -- meanwhile, but Lua limits the number of values in a call.
  for first = 0, slots - 1, 1000 do
    local fields = {}
    for i = first, math.min(first + 999, slots - 1) do
      fields[#fields + 1] = id .. ' ' .. i
    end
    for _, input in ipairs(redis.call('HMGET', j.inputs, unpack(fields))) do
      argument[#argument + 1] = input or ''
    end
    redis.call('HDEL', j.inputs, unpack(fields))
  end
  argument = table.concat(argument)
  local task = made[1] .. varint(#argument) .. argument
  local entry = add(j, submitted, task, urgent == '1' and urgent or made[4])
  line_up(j, entry, 0, tries, count)
  redis.call('HDEL', j.inputs, unpack(parts))
  redis.call('HDEL', j.deferred, id)
end

-- Ends the lease of an entry. O(log n)
local function release(j, entry, worker)
  redis.call('ZREM', j.leases, entry)
  redis.call('HDEL', j.holders, entry)
  if tonumber(redis.call('ZINCRBY', j.holding, -1, worker)) <= 0 then
    redis.call('ZREM', j.holding, worker)
  end
end

-- Removes an entry, the lease of which has ended. O(1)
local function remove(j, entry)
  redis.call('HDEL', j.tasks, entry)
  redis.call('HDEL', j.tries, entry)
  redis.call('HDEL', j.steps, entry)
  redis.call('HDEL', j.urgent_entries, entry)
end

-- Ends the job, which is remembered for a while. O(1): its keys are freed by another thread
local function finish(j, state)
  local job = redis.call('HMGET', j.job, 'build', 'keep')
  redis.call('UNLINK', j.tasks, j.tries, j.steps, j.waiting, j.urgent, j.suspects, j.later,
    j.urgent_entries, j.leases, j.holders, j.holding)
  redis.call('HSET', j.job, 'state', state, 'ended', (now()))
  redis.call('HDEL', RUNNING, j.id)
  redis.call('ZREM', DUE, j.id)
  redis.call('ZREM', ready_of(job[1]), j.id)
  redis.call('ZREM', urgent_of(job[1]), j.id)
  redis.call('ZREM', suspects_of(job[1]), j.id)
  redis.call('ZREM', later_of(job[1]), j.id)
  redis.call('XADD', j.over, '*', 'state', state)
  if state ~= 'done' or redis.call('EXISTS', j.aside) == 0 then
    redis.call('UNLINK', j.deferred, j.inputs)
  end
  -- Tasks that were set aside may be tried again, and then fill their slots.
  local kept = { j.job, j.results, j.aside, j.shares, j.fingerprints, j.over, j.deferred, j.inputs }
  for _, key in ipairs(kept) do
    redis.call('PEXPIRE', key, job[2])
  end
end

-- Ends the job if no entries are left. Returns their number. O(1)
local function tidy(j, sealed)
  local left = redis.call('HLEN', j.tasks)
  if left == 0 and sealed == '1' then
    finish(j, 'done')
  end
  return left
end

-- Returns true if there is room for a task among those that were set aside, and reserves it. Tasks
-- larger than 64 KiB share 64 MiB. A negative size frees room. O(1)
local function has_room_aside(j, size)
  if math.abs(size) <= 65536 then
    return true
  end
  if redis.call('HINCRBY', j.job, 'aside bytes', size) <= 67108864 then
    return true
  end
  redis.call('HINCRBY', j.job, 'aside bytes', -size)
  return false
end

-- Sets a task aside. All such tasks are counted, but only a thousand are stored, and only the first
-- bytes of one that is too large for the remaining room: a program that fails everywhere may have
-- millions. `urgent` is given for tasks that were not entries. O(1)
local function set_aside(j, entry, task, attempts, reason, urgent)
  redis.call('HINCRBY', j.job, 'aside', 1)
  if redis.call('XLEN', j.aside) < 1000 then
    local kept, whole = task or '', 1
    if not has_room_aside(j, #kept) then
      kept, whole = string.sub(kept, 1, 4096), 0
    end
    redis.call('XADD', j.aside, '*', 'entry', entry, 'attempts', attempts, 'reason', reason,
      'task', kept, 'whole', whole,
      'urgent', urgent or redis.call('HEXISTS', j.urgent_entries, entry))
  end
end

-- Leases an entry. The numbers of deliveries have gaps of `stride`, which the worker drew at
-- random. A server that lost its last changes continues from an earlier number, while workers may
-- still hold entries that were delivered in between: the same entry must not get the same number
-- again. O(log n)
local function deliver(j, job, entry, worker, at, stride)
  -- Formatted explicitly, since Lua prints only 14 digits of a number.
  local delivery = string.format('%.0f', redis.call('HINCRBY', j.job, 'deliveries', stride))
  redis.call('HSET', j.holders, entry, worker .. ' ' .. delivery)
  redis.call('ZADD', j.leases, at + lease_of(job[1]), entry)
  redis.call('ZINCRBY', j.holding, 1, worker)
  local attempts = tonumber(redis.call('HGET', j.tries, entry)) or 0
  local step = tonumber(redis.call('HGET', j.steps, entry)) or 0
  return { j.id, job[2], entry, delivery, step, attempts + 1, redis.call('HGET', j.tasks, entry) }
end

-- Returns when the next delayed task of a build may be leased, if there is one. O(log j)
local function next_later(build)
  return tonumber(redis.call('ZRANGE', later_of(build), 0, 0, 'WITHSCORES')[2])
end

-- Moves delayed tasks that are due to the waiting ones: at most 64 of each of 4 jobs at once.
-- Returns when the next one is due. O(log j) if none is due
local function promote(build, at)
  local next = next_later(build)
  if not next or next > at then
    return next
  end
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', later_of(build), '-inf', at, 'LIMIT', 0, 4)) do
    local j, count = keys(id), counts()
    local tries = tonumber(redis.call('HGET', j.job, 'tries')) or 0
    for _, entry in ipairs(redis.call('ZRANGEBYSCORE', j.later, '-inf', at, 'LIMIT', 0, 64)) do
      redis.call('ZREM', j.later, entry)
      line_up(j, entry, tonumber(redis.call('HGET', j.tries, entry)) or 0, tries, count)
    end
    note_later(j, build)
    announce(j, build, count)
  end
  return next_later(build)
end

-- Leases tasks of jobs of a build, urgent ones first, each job in its turn. Returns them, and the
-- milliseconds until the next delayed task may be leased, if there is one. O(k log n) for k tasks,
-- and O(log j) for each of at most 32 jobs
local function take(worker, build, most, suspect, stride)
  local leases, at = {}, now()
  local later = promote(build, at)
  local function from(set, list, count)
    local id = redis.call('ZRANGE', set, 0, 0)[1]
    if not id then
      return false
    end
    local j = keys(id)
    local job = redis.call('HMGET', j.job, 'lease', 'submitted')
    -- A job that was deleted by hand has no entries.
    local entries = job[1] and redis.call('LPOP', j[list], count) or {}
    for _, entry in ipairs(entries) do
      leases[#leases + 1] = deliver(j, job, entry, worker, at, stride)
    end
    if redis.call('EXISTS', j[list]) == 1 and job[1] then
      in_turn(set, id)
    else
      redis.call('ZREM', set, id)
    end
    return true
  end
  if suspect and most > 0 then
    from(suspects_of(build), 'suspects', 1)
  end
  local queues = { urgent_of(build), ready_of(build) }
  if redis.call('EXISTS', unpack(queues)) > 0 then
    for i, list in ipairs({ 'urgent', 'waiting' }) do
      for _ = 1, 16 do
        if #leases >= most or not from(queues[i], list, most - #leases) then
          break
        end
      end
    end
    if redis.call('EXISTS', unpack(queues)) > 0 then
      wake(build, 1)
    end
  end
  return leases, later and math.max(0, later - at)
end
