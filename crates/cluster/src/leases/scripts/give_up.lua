-- Gives a task back, or sets it aside. O(log n)
-- ARGV: name, entry, worker, delivery, why ('untried', 'failed', 'hopeless'), reason
local id, entry, worker, delivery, why, reason = unpack(ARGV)
local j = keys(id)
if not held(j, entry, worker, delivery) then
  return 0
end
must_not_fail()
local job = redis.call('HMGET', j.job, 'build', 'tries', 'sealed')
local task = redis.call('HGET', j.tasks, entry)
local before = tonumber(redis.call('HGET', j.tries, entry)) or 0
release(j, entry, worker)
if not task or why == 'hopeless' or (why == 'failed' and before + 1 >= tonumber(job[2])) then
  set_aside(j, entry, task, before + 1, reason)
  remove(j, entry)
  tidy(j, job[3])
  return 1
end
local attempts = why == 'untried' and before or before + 1
local count = counts()
line_up(j, entry, attempts, tonumber(job[2]), count)
announce(j, job[1], count)
return 1
