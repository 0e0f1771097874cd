-- Gives a task back, or sets it aside.
-- ARGV: name, entry, worker, delivery, why ('stopping', 'failed', 'hopeless'), reason
local _, entry, worker, delivery, why, reason = unpack(ARGV)
if not held(entry, worker, delivery) then
  return 0
end
local task, before = read(entry)
local attempts = (before or 0) + tonumber(delivery)
local tries = tonumber(redis.call('HGET', JOB, 'tries'))
if not task or why == 'hopeless' or (why == 'failed' and attempts >= tries) then
  set_aside(entry, task, attempts, reason)
  return 1
end
-- A new entry, which waits: an old one would be seen only when its lease has run out.
if why == 'stopping' then
  attempts = attempts - 1
end
redis.call('XADD', TASKS, '*', 't', task, 'n', attempts)
remove(entry)
return 1
