-- Replaces a task by its results, its children and what is kept of it; and leases another one, if that is wanted.
-- O(log n) for the lease, O(1) for each child and each result.
-- ARGV: name, entry, worker, delivery, step, 1 if something is kept, 1 if another task is wanted, tasks run, then the numbers of
-- results, children and tasks to set aside; results..., a task and its tries for each child, a task, its tries and a
-- reason for each that is set aside, and what is kept
local id, entry, worker, delivery, step, keeps, more, tasks, results, children, aside = unpack(ARGV, 1, 11)
local j = keys(id)
if not held(j, entry, worker, delivery) then
  return { 0 }
end
local job = redis.call('HMGET', j.job, 'build', 'submitted', 'sealed', 'tries', 'task', 'children', 'result')
local at = tonumber(redis.call('HGET', j.steps, entry)) or 0
if at ~= tonumber(step) then
  -- Nobody else has this ticket. If it went on in between, it was by this completion, which is repeated.
  if keeps == '1' and at == step + 1 then
    return { 1, redis.call('HLEN', j.tasks), redis.call('LLEN', j.results) }
  end
  return { 0 }
end
results, children, aside = tonumber(results), tonumber(children), tonumber(aside)
local first_child = 12 + results
local first_aside = first_child + 2 * children
for i = 12, 11 + results do
  if #ARGV[i] > tonumber(job[7]) then
    return { 2, 'a result', #ARGV[i], job[7] }
  end
end
if children > tonumber(job[6]) then
  return { 2, 'a number of children', children, job[6] }
end
for i = first_child, first_aside - 1, 2 do
  if #ARGV[i] > tonumber(job[5]) then
    return { 2, 'a task', #ARGV[i], job[5] }
  end
end
-- A lease that ends without children leaves more room than it takes; were it refused too, there never would be room again.
if children == 0 and keeps ~= '1' then
  must_not_fail()
end
local plain = 0
for i = first_child, first_aside - 1, 2 do
  plain = plain + line_up(j, add(j, job[2], ARGV[i]), tonumber(ARGV[i + 1]), tonumber(job[4]))
end
for i = first_aside, first_aside + 3 * aside - 1, 3 do
  local number = job[2] .. '-' .. redis.call('HINCRBY', j.job, 'entries', 1)
  set_aside(j, number, ARGV[i], ARGV[i + 1], ARGV[i + 2])
end
local listed = redis.call('LLEN', j.results)
for i = 12, 11 + results do
  if #ARGV[i] > 0 then
    listed = redis.call('RPUSH', j.results, ARGV[i])
  end
end
redis.call('HINCRBY', j.job, 'tasks', tasks)
if keeps == '1' then
  redis.call('HSET', j.tasks, entry, ARGV[#ARGV])
  redis.call('HSET', j.steps, entry, step + 1)
else
  -- Whoever only gives tasks back has done nothing.
  if tonumber(tasks) > 0 then
    redis.call('HINCRBY', j.job, 'done', 1)
    redis.call('ZINCRBY', j.shares, 1, worker)
  end
  release(j, entry, worker)
  remove(j, entry)
end
if children > 0 then
  announce(j, job[1], plain, children - plain)
end
local left = tidy(j, job[3])
local next = {}
if more == '1' then
  next = take(worker, job[1], 1, false)
end
return { 1, left, listed, next }
