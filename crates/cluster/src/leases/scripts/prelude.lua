-- Precedes every script. Keys are made here from the names of jobs and builds, and not passed by
-- the caller, which does not know whose turn it is. So all keys must be on one server.
--
-- In the complexities, n is the number of tasks of a job, w that of workers, j that of running
-- jobs.
local GLOBAL = 'locksley:'

-- A hash: the latest time that was noted (seen), how far the time is ahead of the server's clock
-- (ahead), and the latest time of submission of a job (submitted).
local CLOCK = GLOBAL .. 'clock'

-- A server that is short of memory refuses a script's first change if that may need memory, and no
-- later one. A script that must not be refused begins with this change, which needs no memory.
local function must_not_fail()
  redis.call('DEL', GLOBAL .. 'none')
end

-- Returns the time in milliseconds. If the server's clock is set back, time continues from the
-- latest time that was noted, and so goes back by less than a second. Every caller notes the time,
-- not only heartbeats: deadlines that were set while the clock was ahead must arrive. O(1)
local function now()
  local time = redis.call('TIME')
  local clock = redis.call('HMGET', CLOCK, 'seen', 'ahead')
  local seen, ahead = tonumber(clock[1]) or 0, tonumber(clock[2]) or 0
  local at = time[1] * 1000 + math.floor(time[2] / 1000) + ahead
  if at < seen then
    redis.pcall('HSET', CLOCK, 'ahead', ahead + seen - at)
    return seen
  end
  if at - seen >= 1000 then
    redis.pcall('HSET', CLOCK, 'seen', at)
  end
  return at
end

-- The keys of a job, made on demand:
-- job        a hash: build, program, terms, state, counters
-- tasks      a hash: each entry that waits or is leased; its length is the number outstanding
-- tries      a hash: number of failed tries of each entry that has any
-- steps      a hash: number of steps of each lease that was completed in part
-- waiting    a list of entries
-- urgent     a list of entries that are leased before those
-- suspects   a list of entries, of which a worker gets one at a time
-- later      a sorted set: entries that may not be leased yet, by when they may
-- urgent_entries a hash: entries that are urgent, in whatever list they are
-- leases     a sorted set: leased entries by time of expiry
-- holders    a hash: the worker of each lease, and the number of its delivery
-- holding    a sorted set: workers by how many leases they hold
-- results    a list of partial results
-- deferred   a hash: number of missing inputs of each deferred task
-- inputs     a hash: the parts of each deferred task (front, head, slots, urgent), and its inputs
-- aside      a stream of tasks that were set aside, with reasons
-- shares     a sorted set: workers by how many leases they completed
-- fingerprints a list: the fingerprint of each chunk of first tasks
-- over       a stream that gets an entry when the job is over: submitters block on it
local function keys(id)
  local prefix = GLOBAL .. '{' .. id .. '}:'
  return setmetatable({ id = id }, { __index = function(_, what) return prefix .. what end })
end

local RUNNING = GLOBAL .. 'running' -- a hash: build and time of submission of each running job
local DUE = GLOBAL .. 'due' -- a sorted set: running jobs by when a lease of theirs may expire
local WORKERS = GLOBAL .. 'workers' -- a sorted set: workers, and until when they count as alive
local PRESENT = GLOBAL .. 'present' -- a hash: slots and build of each worker
local SLOTS = GLOBAL .. 'slots' -- the sum of their slots
local RETURNED = GLOBAL .. 'returned' -- when workers came back after all had been away

-- Returns the length of a lease. With thousands of workers it is longer than its job asks for:
-- three times the time in which each has made one request, at 200 requests a second. O(1)
local function lease_of(lease, workers)
  return math.max(lease, math.min(15 * (workers or redis.call('ZCARD', WORKERS)), 150000))
end

-- Returns the number of slots in the description of a worker.
local function slots_in(text)
  return tonumber(string.match(text or '', '^%d+')) or 0
end

-- Notes that a worker is alive. Returns the sum of all slots, the number of workers, and the time.
-- O(log w)
local function alive(name, time, slots, build)
  local at = now()
  if redis.call('ZCOUNT', WORKERS, at, '+inf') == 0 then
    redis.call('SET', RETURNED, at)
  end
  redis.call('ZADD', WORKERS, at + time, name)
  local about, before = slots .. ' ' .. build, redis.call('HGET', PRESENT, name)
  if before ~= about then
    redis.call('HSET', PRESENT, name, about)
    redis.call('INCRBY', SLOTS, slots - slots_in(before))
  end
  return tonumber(redis.call('GET', SLOTS)) or 0, redis.call('ZCARD', WORKERS), at
end

-- Renews leases of a job. Returns 1 for each good ticket, else 0. ARGV from `first` on: an entry, a
-- worker and a delivery for each lease. O(k log n) for k leases, in three calls
local function renew(id, first, at, workers)
  local j = keys(id)
  local entries, owners = {}, {}
  for i = first, #ARGV, 3 do
    entries[#entries + 1] = ARGV[i]
    owners[#owners + 1] = ARGV[i + 1] .. ' ' .. ARGV[i + 2]
  end
  local found = redis.call('HMGET', j.holders, unpack(entries))
  local until_when = at + lease_of(redis.call('HGET', j.job, 'lease') or 0, workers)
  local good, renewed = {}, {}
  for i = 1, #entries do
    good[i] = 0
    if found[i] == owners[i] then
      good[i] = 1
      renewed[#renewed + 1] = until_when
      renewed[#renewed + 1] = entries[i]
    end
  end
  if #renewed > 0 then
    redis.call('ZADD', j.leases, unpack(renewed))
  end
  return good
end
