-- The workers that are alive. KEYS: workers, slots, builds
local at = now()
local present = {}
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], at, '+inf')) do
  present[#present + 1] = { name, redis.call('HGET', KEYS[2], name), redis.call('HGET', KEYS[3], name) }
end
return present
