-- Makes tasks wait again whose leases expired: O(log j) if none did, else O(k log n) for k of them,
-- at most 256 at once. Returns how many wait again, how many were set aside, and the milliseconds
-- until the next lease may expire, or -1.
must_not_fail()
local at = now()
local back = returned(at)
-- Forget workers that are gone, each once.
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', WORKERS, '-inf', at, 'LIMIT', 0, 256)) do
  redis.call('DECRBY', SLOTS, slots_in(redis.call('HGET', PRESENT, gone)))
  redis.call('ZREM', WORKERS, gone)
  redis.call('HDEL', PRESENT, gone)
end
local again, aside = 0, 0
for _, id in ipairs(redis.call('ZRANGEBYSCORE', DUE, '-inf', at, 'LIMIT', 0, 4)) do
  local j = keys(id)
  local job = redis.call('HMGET', j.job, 'build', 'lease', 'tries', 'state', 'sealed')
  local lease, tries = tonumber(job[2]), tonumber(job[3])
  if job[4] ~= 'running' or lost(j, job[4], job[5]) then
    -- Workers must not look for its tasks any more.
    redis.call('HDEL', RUNNING, id)
    redis.call('ZREM', DUE, id)
  elseif at < back + lease then
    redis.call('ZADD', DUE, back + lease, id)
  else
    local count = counts()
    for _, entry in ipairs(redis.call('ZRANGEBYSCORE', j.leases, '-inf', at, 'LIMIT', 0, 64)) do
      local last = string.match(redis.call('HGET', j.holders, entry) or '', '^(.*) ') or ''
      local task = redis.call('HGET', j.tasks, entry)
      local attempts = (tonumber(redis.call('HGET', j.tries, entry)) or 0) + 1
      release(j, entry, last)
      if not task then
        -- The entry was deleted by hand.
        remove(j, entry)
      elseif attempts >= tries then
        local reason = 'no worker lived to finish it; the last one was ' .. last
        set_aside(j, entry, task, attempts, reason)
        remove(j, entry)
        aside = aside + 1
      else
        line_up(j, entry, attempts, tries, count)
        again = again + 1
      end
    end
    announce(j, job[1], count)
    -- Leases that begin from now on expire later than this.
    local first = redis.call('ZRANGE', j.leases, 0, 0, 'WITHSCORES')[2]
    redis.call('ZADD', DUE, first or at + lease, id)
    tidy(j, job[5])
  end
end
local first = redis.call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2]
return { again, aside, first and math.max(0, first - at) or -1 }
