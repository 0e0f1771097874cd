-- Leases anew what ran out.
-- KEYS: those of the job, workers, since when they are back.
-- ARGV: name, worker, at most so many, 1 if the worker is idle, when the job was submitted
local _, worker, most, idle, submitted = unpack(ARGV)
most, idle = tonumber(most), idle == '1'
local terms = redis.call('HMGET', JOB, 'lease', 'tries', 'submitted', 'state')
if terms[3] ~= submitted or terms[4] ~= 'running' then
  -- It is over, or its name was given to another job.
  return { 0 }
end
if lost(terms[4]) then
  -- Nobody shall look for its tasks any more.
  redis.call('HDEL', RUNNING, ID)
  return { 0 }
end
local at = now()
if at < returned(KEYS[8], KEYS[9], at) + terms[1] then
  return { 0 }
end
local tries = tonumber(terms[2])
local taken, suspects = {}, 0
for _, found in ipairs(redis.call('XPENDING', TASKS, GROUP, 'IDLE', terms[1], '-', '+', 64)) do
  local entry, last, delivery = found[1], found[2], found[4]
  local task, before = read(entry)
  local attempts = (before or 0) + delivery
  local alone = attempts + 2 >= tries
  if task == nil then
    -- Somebody deleted the entry by hand.
    remove(entry)
  elseif attempts >= tries then
    set_aside(entry, task, attempts, 'no worker lived to finish it; the last one was ' .. last)
  elseif alone and not (idle and #taken == 0) then
    suspects = 1
  elseif #taken < most then
    redis.call('XCLAIM', TASKS, GROUP, worker, 0, entry)
    taken[#taken + 1] = { entry, delivery + 1, attempts + 1, task }
    if alone then
      most, idle = 0, false
    end
  end
end
return { suspects, unpack(taken) }
