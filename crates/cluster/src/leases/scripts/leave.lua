-- Removes a worker that leaves. O(log w). ARGV: name
local slots = slots_in(redis.call('HGET', PRESENT, ARGV[1]))
redis.call('ZREM', WORKERS, ARGV[1])
redis.call('HDEL', PRESENT, ARGV[1])
if slots > 0 then
  redis.call('DECRBY', SLOTS, slots)
end
return 1
