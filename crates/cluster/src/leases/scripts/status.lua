-- A job at one moment. ARGV: name
if redis.call('EXISTS', JOB) == 0 then
  return false
end
local outstanding, pending = 0, { 0, false, false, {} }
if redis.call('EXISTS', TASKS) == 1 and not lost('running') then
  outstanding, pending = redis.call('XLEN', TASKS), redis.call('XPENDING', TASKS, GROUP)
end
return {
  redis.call('HGETALL', JOB), now(), outstanding, pending[1], pending[4] or {},
  redis.call('HGETALL', SHARES), redis.call('XRANGE', ASIDE, '-', '+', 'COUNT', 10),
}
