-- A worker is gone. O(log w). ARGV: name
local slots = tonumber(string.match(redis.call('HGET', PRESENT, ARGV[1]) or '', '^%d+')) or 0
redis.call('ZREM', WORKERS, ARGV[1])
redis.call('HDEL', PRESENT, ARGV[1])
if slots > 0 then
  redis.call('DECRBY', SLOTS, slots)
end
return 1
