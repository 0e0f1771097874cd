-- Before every script about jobs, after the prelude.

-- When the workers came back, if all of them were away; so they are, too, for a server that was
-- away itself. Until then no worker could renew a lease, and that one ran out says nothing about
-- its worker. O(log w)
local function returned(at)
  if redis.call('ZCOUNT', WORKERS, at, '+inf') > 0 then
    return tonumber(redis.call('GET', RETURNED)) or 0
  end
  redis.call('SET', RETURNED, at)
  return at
end

-- Jobs of a build that have tasks that wait, by when it was their turn last; the same of urgent
-- tasks and of suspects; jobs by when their next delayed task may be leased; and a list on which
-- workers block.
local function ready_of(build) return GLOBAL .. 'ready:' .. build end
local function urgent_of(build) return GLOBAL .. 'urgent:' .. build end
local function suspects_of(build) return GLOBAL .. 'suspects:' .. build end
local function later_of(build) return GLOBAL .. 'later:' .. build end
local function wake_of(build) return GLOBAL .. 'wake:' .. build end

-- Wakes up to this many workers, one for each element of the list. One that finds more than it can
-- take wakes the next. O(1): at most 64
local function wake(build, count)
  local key = wake_of(build)
  for _ = redis.call('LLEN', key) + 1, math.min(count, 64) do
    redis.call('RPUSH', key, 1)
    redis.call('PEXPIRE', key, 3600000)
  end
end

-- Lets a job take its turn. O(log j)
local function in_turn(set, id)
  redis.call('ZADD', set, redis.call('INCR', GLOBAL .. 'turn'), id)
end

-- Returns true if the server has lost the tasks of a job that is in this state. No script leaves a
-- running job that is complete without tasks: they were deleted by hand, or thrown away when memory
-- was short. O(1)
local function lost(j, state, sealed)
  return state == 'running' and sealed == '1' and redis.call('EXISTS', j.tasks) == 0
end

-- Returns true if this is the last delivery of the entry, and to this worker. O(1)
local function held(j, entry, worker, delivery)
  return redis.call('HGET', j.holders, entry) == worker .. ' ' .. delivery
end

-- Counts of entries that were let wait, by the names of the lists.
local function counts()
  return { waiting = 0, urgent = 0, suspects = 0, later = 0 }
end

-- Lets an entry wait. O(1)
local function line_up(j, entry, attempts, tries, count)
  local list = 'waiting'
  if attempts > 0 then
    redis.call('HSET', j.tries, entry, attempts)
    if attempts + 2 >= tries then
      list = 'suspects'
    end
  end
  if list == 'waiting' and redis.call('HEXISTS', j.rush, entry) == 1 then
    list = 'urgent'
  end
  redis.call('RPUSH', j[list], entry)
  count[list] = count[list] + 1
end

-- Lets an entry wait that may not be leased before this time. O(log n)
local function line_up_later(j, entry, attempts, due, count)
  if attempts > 0 then
    redis.call('HSET', j.tries, entry, attempts)
  end
  redis.call('ZADD', j.later, due, entry)
  count.later = count.later + 1
end

-- Notes when the next delayed task of a job may be leased. O(log n)
local function note_later(j, build)
  local first = redis.call('ZRANGE', j.later, 0, 0, 'WITHSCORES')[2]
  if first then
    redis.call('ZADD', later_of(build), first, j.id)
  else
    redis.call('ZREM', later_of(build), j.id)
  end
end

-- Lets others know that there is more to do. Of delayed tasks one worker has to know: it wakes when
-- the first may be leased. O(log n)
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

-- A new entry with this task. O(1)
local function add(j, submitted, task, urgent)
  local entry = submitted .. '-' .. redis.call('HINCRBY', j.job, 'entries', 1)
  redis.call('HSET', j.tasks, entry, task)
  if urgent == '1' then
    redis.call('HSET', j.rush, entry, 1)
  end
  return entry
end

-- A number as postcard writes it: 7 bits at a time, lowest first. O(1)
local function varint(number)
  local bytes = {}
  while number >= 128 do
    bytes[#bytes + 1] = string.char(number % 128 + 128)
    number = math.floor(number / 128)
  end
  bytes[#bytes + 1] = string.char(number)
  return table.concat(bytes)
end

-- Keeps a deferred task. O(1)
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

-- Makes an entry of a deferred task whose slots are full. O(k) for k slots
local function undefer(j, submitted, id, tries, urgent, count)
  if redis.call('HGET', j.deferred, id) ~= '0' then
    return
  end
  local parts = { id .. ' front', id .. ' head', id .. ' slots', id .. ' urgent' }
  local made = redis.call('HMGET', j.inputs, unpack(parts))
  local argument, slots = { made[2] }, tonumber(made[3])
  -- A thousand slots in a call: a group may have a million, and the server does nothing else.
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

-- Takes the lease of an entry away. O(log n)
local function release(j, entry, worker)
  redis.call('ZREM', j.leases, entry)
  redis.call('HDEL', j.holders, entry)
  if tonumber(redis.call('ZINCRBY', j.holding, -1, worker)) <= 0 then
    redis.call('ZREM', j.holding, worker)
  end
end

-- Takes an entry away that is not leased any more. O(1)
local function remove(j, entry)
  redis.call('HDEL', j.tasks, entry)
  redis.call('HDEL', j.tries, entry)
  redis.call('HDEL', j.steps, entry)
  redis.call('HDEL', j.rush, entry)
end

-- The job is over. It is remembered for a while. O(1): what it had is freed by another thread
local function finish(j, state)
  local job = redis.call('HMGET', j.job, 'build', 'keep')
  redis.call('UNLINK', j.tasks, j.tries, j.steps, j.waiting, j.urgent, j.suspects, j.later, j.rush,
    j.leases, j.holders, j.holding)
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
  -- What was set aside may be tried again, and then its slots are filled.
  local kept = { j.job, j.results, j.aside, j.shares, j.prints, j.over, j.deferred, j.inputs }
  for _, key in ipairs(kept) do
    redis.call('PEXPIRE', key, job[2])
  end
end

-- Ends the job if nothing is left. Gives what is left. O(1)
local function tidy(j, sealed)
  local left = redis.call('HLEN', j.tasks)
  if left == 0 and sealed == '1' then
    finish(j, 'done')
  end
  return left
end

-- Returns true if there is room for a task among those that were set aside. Large ones have 64 MiB
-- together. A negative size makes room again. O(1)
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

-- Notes a task that no worker can do. All are counted. A thousand are kept, and of one that is too
-- large for the room that is left, the first bytes: of a program that fails everywhere there may be
-- millions. `urgent` is for what was no entry before. O(1)
local function set_aside(j, entry, task, attempts, reason, urgent)
  redis.call('HINCRBY', j.job, 'aside', 1)
  if redis.call('XLEN', j.aside) < 1000 then
    local kept, whole = task or '', 1
    if not has_room_aside(j, #kept) then
      kept, whole = string.sub(kept, 1, 4096), 0
    end
    redis.call('XADD', j.aside, '*', 'entry', entry, 'attempts', attempts, 'reason', reason,
      'task', kept, 'whole', whole, 'urgent', urgent or redis.call('HEXISTS', j.rush, entry))
  end
end

-- Leases an entry. The numbers of deliveries have gaps as large as `stride`, which the worker drew
-- at random. A server that lost its last changes counts on from an earlier number, and a worker may
-- still hold what was delivered in between: it must not get the same number for the same entry
-- again. O(log n)
local function deliver(j, job, entry, worker, at, stride)
  -- As a text, since Lua writes 14 digits of a number.
  local delivery = string.format('%.0f', redis.call('HINCRBY', j.job, 'deliveries', stride))
  redis.call('HSET', j.holders, entry, worker .. ' ' .. delivery)
  redis.call('ZADD', j.leases, at + lease_of(job[1]), entry)
  redis.call('ZINCRBY', j.holding, 1, worker)
  local attempts = tonumber(redis.call('HGET', j.tries, entry)) or 0
  local step = tonumber(redis.call('HGET', j.steps, entry)) or 0
  return { j.id, job[2], entry, delivery, step, attempts + 1, redis.call('HGET', j.tasks, entry) }
end

-- When the next delayed task of a build may be leased, if there is one. O(log j)
local function next_later(build)
  return tonumber(redis.call('ZRANGE', later_of(build), 0, 0, 'WITHSCORES')[2])
end

-- Lets delayed tasks be leased whose time has come: at most 64 of each of 4 jobs at once. Gives
-- when the next one may be. O(log j) if there are none
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

-- Leases tasks of jobs of a build, urgent ones first, each job in its turn. Gives them, and in how
-- many milliseconds the next delayed task may be leased, if there is one. O(k log n) for k tasks,
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
    -- Of a job that was deleted by hand there is nothing.
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
