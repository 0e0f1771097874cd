-- Replaces a task by its results, its children and what is kept of it; and leases another one, if
-- requested. O(log n) for the lease, O(1) for each child, each result and each slot of a deferred
-- task.
-- ARGV: name, entry, worker, delivery, step, 1 if something is kept, the stride of the delivery of
-- another task, or 0 if none is requested, 1 if that may be a suspect, tasks run, then the numbers
-- of results, children, tasks to set aside, deferred tasks and inputs; results...; a task, its
-- tries, the number of results in it, its delay and 1 if it is urgent for each child; a task, its
-- tries, a reason and 1 if it is urgent for each that is set aside; an id, a front, a head, the
-- number of slots and 1 if it is urgent for each deferred task; an id, an index and an input for
-- each input; and what is kept
local id, entry, worker, delivery, step, keeps, stride, suspect, tasks = unpack(ARGV, 1, 9)
local results, children, aside, deferred, inputs = unpack(ARGV, 10, 14)
local j = keys(id)
if not held(j, entry, worker, delivery) then
  return { 0 }
end
local job = redis.call('HMGET', j.job, 'build', 'submitted', 'sealed', 'tries', 'task', 'children',
  'result', 'urgent')
local at = tonumber(redis.call('HGET', j.steps, entry)) or 0
if at ~= tonumber(step) then
  -- No other worker has this ticket. If the lease is one step ahead, this completion caused that,
  -- and is being repeated.
  if keeps == '1' and at == step + 1 then
    return { 1, redis.call('HLEN', j.tasks), redis.call('LLEN', j.results) }
  end
  return { 0 }
end
results, children, aside = tonumber(results), tonumber(children), tonumber(aside)
deferred, inputs = tonumber(deferred), tonumber(inputs)
local task_limit, result_limit = tonumber(job[5]), tonumber(job[7])
local first_child = 15 + results
local first_aside = first_child + 5 * children
local first_deferred = first_aside + 4 * aside
local first_input = first_deferred + 5 * deferred

-- Returns the answer for the first value that exceeds a limit, if there is one.
local function oversized()
  for i = 15, 14 + results do
    if #ARGV[i] > result_limit then
      return { 2, 'a result', #ARGV[i], job[7] }
    end
  end
  if children > tonumber(job[6]) then
    return { 2, 'a number of children', children, job[6] }
  end
  for i = first_child, first_aside - 1, 5 do
    -- A continuation has inputs, each as large as a result may be.
    local limit = task_limit + ARGV[i + 2] * result_limit
    if #ARGV[i] > limit then
      return { 2, 'a task', #ARGV[i], limit }
    end
  end
  for i = first_deferred, first_input - 1, 5 do
    local size = #ARGV[i + 1] + #ARGV[i + 2]
    if size > task_limit + result_limit then
      return { 2, 'a task', size, task_limit + result_limit }
    end
  end
  for i = first_input, first_input + 3 * inputs - 1, 3 do
    if #ARGV[i + 2] > result_limit then
      return { 2, 'a result', #ARGV[i + 2], job[7] }
    end
  end
end

-- Adds the children, and sets tasks aside. O(1) for each
local function add_tasks(count)
  local at = nil
  for i = first_child, first_aside - 1, 5 do
    local child = add(j, job[2], ARGV[i], job[8] == '1' and '1' or ARGV[i + 4])
    local attempts, delay = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 3])
    if delay > 0 then
      at = at or now()
      line_up_later(j, child, attempts, at + delay, count)
    else
      line_up(j, child, attempts, tonumber(job[4]), count)
    end
  end
  for i = first_aside, first_deferred - 1, 4 do
    local number = job[2] .. '-' .. redis.call('HINCRBY', j.job, 'entries', 1)
    set_aside(j, number, unpack(ARGV, i, i + 3))
  end
end

-- Stores deferred tasks and fills slots, then turns deferred tasks that are full into entries. O(1)
-- for each slot
local function add_deferred(count)
  for i = first_deferred, first_input - 1, 5 do
    defer(j, unpack(ARGV, i, i + 4))
  end
  for i = first_input, first_input + 3 * inputs - 1, 3 do
    fill(j, unpack(ARGV, i, i + 2))
  end
  for i = first_deferred, first_input - 1, 5 do
    undefer(j, job[2], ARGV[i], tonumber(job[4]), job[8], count)
  end
  for i = first_input, first_input + 3 * inputs - 1, 3 do
    undefer(j, job[2], ARGV[i], tonumber(job[4]), job[8], count)
  end
end

local refused = oversized()
if refused then
  return refused
end
-- A lease that ends without children frees more memory than it takes. If it were refused too, a
-- full server would never have room again.
if children == 0 and deferred == 0 and keeps ~= '1' then
  must_not_fail()
end
local count = counts()
add_tasks(count)
add_deferred(count)
local listed = redis.call('LLEN', j.results)
for i = 15, 14 + results do
  if #ARGV[i] > 0 then
    listed = redis.call('RPUSH', j.results, ARGV[i])
  end
end
redis.call('HINCRBY', j.job, 'tasks', tasks)
if keeps == '1' then
  redis.call('HSET', j.tasks, entry, ARGV[#ARGV])
  redis.call('HSET', j.steps, entry, step + 1)
else
  -- A worker that only gives tasks back has completed nothing.
  if tonumber(tasks) > 0 then
    redis.call('HINCRBY', j.job, 'done', 1)
    redis.call('ZINCRBY', j.shares, 1, worker)
  end
  release(j, entry, worker)
  remove(j, entry)
end
announce(j, job[1], count)
local left = tidy(j, job[3])
local next = {}
if stride ~= '0' then
  next = take(worker, job[1], 1, suspect == '1', stride)
end
return { 1, left, listed, next }
