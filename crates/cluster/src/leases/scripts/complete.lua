-- Replaces a task by its result and its children; and leases another one, if that is wanted.
-- ARGV: name, entry, worker, delivery, 1 if another one is wanted, tasks run, result, children...
local _, entry, worker, delivery, more, tasks, result = unpack(ARGV, 1, 7)
if not held(entry, worker, delivery) then
  return { 0 }
end
local limits = redis.call('HMGET', JOB, 'task', 'children', 'result')
if #result > tonumber(limits[3]) then
  return { 2, 'a result', #result, limits[3] }
end
if #ARGV - 7 > tonumber(limits[2]) then
  return { 2, 'a number of children', #ARGV - 7, limits[2] }
end
for i = 8, #ARGV do
  if #ARGV[i] > tonumber(limits[1]) then
    return { 2, 'a task', #ARGV[i], limits[1] }
  end
end
-- A server whose memory is short refuses a script's first change if that needs some. A task without children leaves more room than
-- it takes, and this change needs none; were it refused too, there never would be room again.
if #ARGV == 7 then
  redis.call('XACK', TASKS, GROUP, entry)
end
-- Children first: while there are some, the job does not look done.
for i = 8, #ARGV do
  redis.call('XADD', TASKS, '*', 't', ARGV[i])
end
local results = redis.call('LLEN', RESULTS)
if #result > 0 then
  results = redis.call('RPUSH', RESULTS, result)
end
redis.call('HINCRBY', JOB, 'done', 1)
redis.call('HINCRBY', JOB, 'tasks', tasks)
redis.call('HINCRBY', SHARES, worker, 1)
local left = remove(entry)
local next = false
if more == '1' and left > 0 then
  next = redis.call('XREADGROUP', 'GROUP', GROUP, worker, 'COUNT', 1, 'STREAMS', TASKS, '>')
end
return { 1, left, results, next }
