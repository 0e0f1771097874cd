-- Returns the workers that are alive, for display. O(w)
local present = {}
for _, name in ipairs(redis.call('ZRANGEBYSCORE', WORKERS, (now()), '+inf')) do
  present[#present + 1] = { name, redis.call('HGET', PRESENT, name) or '' }
end
return present
