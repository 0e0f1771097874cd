-- Makes tasks wait again that were set aside. O(k) for the k of them that are stored. Returns how
-- many, or -1 if there is no such job or it was cancelled.
-- ARGV: name, entries... (all if there are none)
local j = keys(ARGV[1])
local job = redis.call('HMGET', j.job, 'state', 'build', 'submitted', 'tries', 'lease', 'urgent')
if not job[1] or job[1] == 'cancelled' then
  return -1
end
local chosen = {}
for i = 2, #ARGV do
  chosen[ARGV[i]] = true
end
local again, count = 0, counts()
for _, item in ipairs(redis.call('XRANGE', j.aside, '-', '+', 'COUNT', 1000)) do
  local about = {}
  for i = 1, #item[2], 2 do
    about[item[2][i]] = item[2][i + 1]
  end
  if about.whole == '1' and (#ARGV == 1 or chosen[about.entry]) then
    local urgent = job[6] == '1' and '1' or about.urgent
    line_up(j, add(j, job[3], about.task, urgent), 0, tonumber(job[4]), count)
    has_room_aside(j, -#about.task)
    redis.call('XDEL', j.aside, item[1])
    redis.call('HINCRBY', j.job, 'aside', -1)
    again = again + 1
  end
end
if again == 0 then
  return 0
end
if job[1] ~= 'running' then
  redis.call('HSET', j.job, 'state', 'running')
  redis.call('HDEL', j.job, 'ended')
  redis.call('HSET', RUNNING, j.id, job[2] .. ' ' .. job[3])
  redis.call('ZADD', DUE, now() + job[5], j.id)
  redis.call('DEL', j.over)
  local kept = { j.job, j.results, j.aside, j.shares, j.fingerprints, j.deferred, j.inputs }
  for _, key in ipairs(kept) do
    redis.call('PERSIST', key)
  end
end
announce(j, job[2], count)
return again
