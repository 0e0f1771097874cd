-- Returns the status of a job. O(log w): only the 64 workers that completed most leases, and the 64
-- that hold most. ARGV: name
local j = keys(ARGV[1])
if redis.call('EXISTS', j.job) == 0 then
  return false
end
local shares = {}
local function add_shares(names)
  for _, name in ipairs(names) do
    if not shares[name] then
      shares[name] = true
      shares[#shares + 1] = {
        name, redis.call('ZSCORE', j.shares, name) or 0, redis.call('ZSCORE', j.holding, name) or 0,
      }
    end
  end
end
add_shares(redis.call('ZREVRANGE', j.shares, 0, 63))
add_shares(redis.call('ZREVRANGE', j.holding, 0, 63))
-- A write command without effect, which a server refuses if its memory or disk is full.
local probe = redis.pcall('SETRANGE', GLOBAL .. 'none', 0, '')
local refused = type(probe) == 'table' and probe.err or ''
local code = ''
for _, known in ipairs({ 'OOM', 'MISCONF', 'NOREPLICAS' }) do
  if string.find(refused, known, 1, true) then
    code = known
  end
end
local listed = {}
for i = 1, #shares do
  listed[i] = shares[i]
end
local at = now()
return {
  redis.call('HGETALL', j.job), at, redis.call('HLEN', j.tasks), redis.call('ZCARD', j.leases),
  listed,
  redis.call('ZCARD', j.shares), redis.call('XRANGE', j.aside, '-', '+', 'COUNT', 10), code,
  redis.call('ZCOUNT', j.later, '(' .. at, '+inf'),
}
