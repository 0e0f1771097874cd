-- Notes that a worker is alive. O(log w). ARGV: name, time for which it counts, slots, build
must_not_fail()
local slots, workers = alive(unpack(ARGV))
return { slots, workers }
