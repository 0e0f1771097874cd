-- A worker is alive. O(log w), and as much for each worker that is gone, once. ARGV: name, for so long, slots, build
local name, alive, slots, build = unpack(ARGV)
must_not_fail()
local at = now()
returned(at)
redis.call('HSET', GLOBAL .. 'clock', 'seen', at)
local function slots_of(worker)
  return tonumber(string.match(redis.call('HGET', PRESENT, worker) or '', '^%d+')) or 0
end
local sum = slots - slots_of(name)
redis.call('ZADD', WORKERS, at + alive, name)
redis.call('HSET', PRESENT, name, slots .. ' ' .. build)
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', WORKERS, '-inf', at, 'LIMIT', 0, 100)) do
  sum = sum - slots_of(gone)
  redis.call('ZREM', WORKERS, gone)
  redis.call('HDEL', PRESENT, gone)
end
if sum ~= 0 then
  sum = redis.call('INCRBY', SLOTS, sum)
else
  sum = tonumber(redis.call('GET', SLOTS)) or 0
end
return { sum, redis.call('ZCARD', WORKERS) }
