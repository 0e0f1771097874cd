-- A worker is alive. O(log w). ARGV: name, for so long, slots, build
must_not_fail()
local slots, workers = alive(unpack(ARGV))
return { slots, workers }
