-- A worker is alive. KEYS: workers, slots, builds, since when they are back. ARGV: name, until when from now on, slots, build
local at = now()
local name, alive, slots, build = unpack(ARGV)
returned(KEYS[1], KEYS[4], at)
redis.call('ZADD', KEYS[1], at + alive, name)
redis.call('HSET', KEYS[2], name, slots)
redis.call('HSET', KEYS[3], name, build)
local gone = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', at)
for _, other in ipairs(gone) do
  redis.call('ZREM', KEYS[1], other)
  redis.call('HDEL', KEYS[2], other)
  redis.call('HDEL', KEYS[3], other)
end
local sum = 0
for _, more in ipairs(redis.call('HVALS', KEYS[2])) do
  sum = sum + more
end
return sum
