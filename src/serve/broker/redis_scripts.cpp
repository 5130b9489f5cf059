#include "serve/broker/redis_scripts.hpp"

namespace omnirt::serve::scripts {
namespace {

// Before each script. Whoever reaches Redis may have written anything under any key, so scripts
// check the types of what they read: an error between two writes would leave half of a change.
const std::string common = R"lua(
local P = ARGV[1]
local letter

-- The key of this name. One of another type, which no script makes, is removed.
local function own(name, kind)
  local key = P .. name
  local found = redis.call('TYPE', key).ok
  if found ~= kind and found ~= 'none' then
    redis.call('UNLINK', key)
    letter(name, 'the key held a ' .. found)
  end
  return key
end

letter = function(job, why)
  redis.call('XADD', own('dead', 'stream'), 'MAXLEN', '~', '1000', '*', 'job', string.sub(job, 1, 1024),
             'why', string.sub(why, 1, 4096))
end

-- A whole number of 0 to 2^53.
local function number(text, otherwise)
  local n = string.match(text or '', '^%d+$') and tonumber(text)
  if n and n <= 9007199254740992 then return n end
  return otherwise
end

-- The hash of this name, whose field then holds what HINCRBY (of whole numbers) or HINCRBYFLOAT adds to.
local function counting(name, field, form)
  local key = own(name, 'hash')
  local had = redis.call('HGET', key, field)
  if had and (#had > 24 or not string.match(had, form)) then redis.call('HDEL', key, field) end
  return key
end
local whole, decimal = '^-?%d+$', '^-?%d+%.?%d*$'

local function ended_bytes()
  local key = own('ended_bytes', 'string')
  if not string.match(redis.call('GET', key) or '0', whole) then redis.call('UNLINK', key) end
  return key
end

-- Fields of a job, each '' if it is missing or longer than `most`.
local function fields(id, most, ...)
  local got = redis.pcall('HMGET', P .. 'j:' .. id, ...)
  local all = {}
  for i = 1, select('#', ...) do
    local value = not got.err and got[i] or ''
    all[i] = #value <= most and value or ''
  end
  return all
end

-- A job's entry and stream; '' unless they are a work stream's.
local function entry_of(id)
  local j = fields(id, 2048, 'e', 's')
  local work = P .. 'work:'
  if string.sub(j[2], 1, #work) ~= work or not string.match(j[1], '^%d+%-%d+$') then return '', '' end
  return j[1], j[2]
end

local function unlink_files(id, attempts, kept)
  for a = 0, math.min(attempts, 10000) do
    if a ~= kept then redis.call('UNLINK', P .. 'f:' .. id .. ':' .. a) end
  end
end

local function leave_line(id, client)
  if redis.call('SREM', own('line', 'set'), id) == 0 then return end
  if redis.call('HINCRBY', counting('clients', client, whole), client, -1) <= 0 then
    redis.call('HDEL', P .. 'clients', client)
    redis.call('HDEL', own('shares', 'hash'), client)
  end
end

local function tell(id, n, kind, data, last)
  redis.call('XADD', own('events', 'stream'), 'MAXLEN', '~', '10000', '*', 'job', id, 'n', string.format('%.0f', n),
             'k', kind, 'd', data, 'l', last and '1' or '0')
end
)lua";

}  // namespace

// A change whose answer was lost comes again: its token is then the job's.
const std::string commit = common + R"lua(
local id = ARGV[2]
local want, token, move, stream = tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6]
local text, state, worker, attempts, cancelling = ARGV[7], ARGV[8], ARGV[9], ARGV[10], ARGV[11]
local kept_files, client, place, ended_ms = ARGV[12], ARGV[13], ARGV[14], ARGV[15]
local bytes, request, result, event = ARGV[16], ARGV[17], ARGV[18], ARGV[19]
local last, dead = ARGV[20] == '1', ARGV[21] == '1'
local J = P .. 'j:' .. id
local known = fields(id, 64, 'v', 't', 'n')
local have = number(known[1], 0)
local e, s = entry_of(id)
if have == want + 1 and known[2] == token then return {1, e, s} end
if have ~= want then return {0} end
if move ~= 'stay' and e ~= '' then
  redis.pcall('XACK', s, 'workers', e)
  redis.pcall('XDEL', s, e)
  e, s = '', ''
end
if move == 'put_in' then
  s = own(string.sub(stream, #P + 1), 'stream')
  redis.call('SADD', own('streams', 'set'), s)
  redis.pcall('XGROUP', 'CREATE', s, 'workers', '0', 'MKSTREAM')
  e = redis.call('XADD', s, '*', 'job', id)
end
-- As in `beat`: at maxmemory only new jobs are refused.
if want > 0 then redis.call('HDEL', own('j:' .. id, 'hash'), '') end
redis.call('HSET', own('j:' .. id, 'hash'), 'v', want + 1, 'd', text, 't', token, 'e', e, 's', s, 'st', state,
           'w', worker, 'a', attempts, 'x', cancelling)
if want == 0 then
  redis.call('HSET', J, 'r', request, 'c', client)
  redis.call('ZADD', own('jobs', 'zset'), place, id)
  redis.call('ZADD', own('jobs:' .. client, 'zset'), place, id)
  if redis.call('HINCRBY', counting('clients', client, whole), client, 1) == 1 then
    local least
    for _, had in ipairs(redis.call('HVALS', own('shares', 'hash'))) do
      had = number(string.match(had, '^(%d+)'), 0)
      least = math.min(least or had, had)
    end
    redis.call('HSET', P .. 'shares', client, string.format('%.3f', least or 0))
  end
end
redis.call('PERSIST', P .. 'f:' .. id .. ':' .. kept_files)
if last then
  redis.call('HSET', J, 'o', result, 'b', bytes)
  redis.call('HDEL', J, 'r', 'p')
  redis.call('ZADD', own('ended', 'zset'), ended_ms, id)
  redis.call('INCRBY', ended_bytes(), bytes)
  leave_line(id, client)
  unlink_files(id, tonumber(attempts), state == 'done' and tonumber(kept_files) or -1)
  redis.call('UNLINK', P .. 'preview:' .. id)
else
  redis.call('SADD', own('line', 'set'), id)
end
if event ~= '' then
  local base = tonumber(attempts) * 1000000
  local n = math.max(base, number(known[3], -1) + 1)
  if last then n = math.max(n, base + 999999) end
  redis.call('HSET', J, 'n', string.format('%.0f', n))
  tell(id, n, 'state', event, last)
end
if dead then letter(id, event) end
return {1, e, s}
)lua";

const std::string snapshot = common + R"lua(
for name, kind in pairs({line = 'set', members = 'hash', seen = 'hash', shares = 'hash', clients = 'hash', times = 'hash',
                         ended = 'zset', jobs = 'zset', streams = 'set', events = 'stream', dead = 'stream'}) do
  own(name, kind)
end
local time = redis.call('TIME')
local line, members, oldest = {}, {}, {}
for _, id in ipairs(redis.call('SMEMBERS', P .. 'line')) do
  line[#line + 1] = {id, fields(id, 65536, 'v', 'd', 'e', 's', 'p')}
end
local all = redis.call('HGETALL', P .. 'members')
for i = 1, #all, 2 do
  members[#members + 1] = {all[i], #all[i + 1] <= 65536 and all[i + 1] or '',
                           redis.call('HGET', P .. 'seen', all[i]) or '0'}
end
local ended = redis.call('ZRANGE', P .. 'ended', '0', '31', 'WITHSCORES')
for i = 1, #ended, 2 do
  oldest[#oldest + 1] = {ended[i], ended[i + 1], fields(ended[i], 32, 'b')[1]}
end
return {time[1], time[2], line, members, redis.call('HGETALL', P .. 'shares'), redis.call('HGETALL', P .. 'times'),
        redis.call('ZCARD', P .. 'ended'), redis.call('GET', ended_bytes()) or '0', oldest}
)lua";

const std::string job = common + R"lua(
if redis.call('EXISTS', P .. 'j:' .. ARGV[2]) == 0 then return {} end
local small, large = fields(ARGV[2], 65536, 'v', 'd', 'e', 's', 'p'), fields(ARGV[2], 1048576, 'o', 'r')
return {small, large[1], ARGV[3] == '1' and large[2] or ''}
)lua";

// At maxmemory Redis refuses commands that take memory only until a script has written: the HDEL
// lets heartbeats through, so that no process looks dead for the lack of memory.
const std::string beat = common + R"lua(
local id, worker, attempt, client = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local J = P .. 'j:' .. id
local j = fields(id, 2048, 'st', 'w', 'a', 'x', 'n')
if j[1] ~= 'running' or j[2] ~= worker or j[3] ~= attempt then return 0 end
redis.call('HDEL', J, '')
local e, s = entry_of(id)
if e ~= '' then redis.pcall('XCLAIM', s, 'workers', worker, '0', e, 'JUSTID') end
local shares = counting('shares', client, decimal)
if redis.call('HEXISTS', shares, client) == 1 then redis.call('HINCRBYFLOAT', shares, client, ARGV[6]) end
if ARGV[7] ~= '' then redis.call('HSET', J, 'p', ARGV[7]) end
local n = number(j[5], 0)
for i = 8, #ARGV, 2 do
  n = math.max(tonumber(attempt) * 1000000, n + 1)
  local data = ARGV[i + 1]
  if ARGV[i] == 'preview' then
    redis.call('SET', P .. 'preview:' .. id, data, 'EX', '3600')
    data = ''
  end
  tell(id, n, ARGV[i], data, false)
end
redis.call('HSET', J, 'n', string.format('%.0f', n))
return j[4] == '1' and 2 or 1
)lua";

const std::string remove = common + R"lua(
local id = ARGV[2]
if redis.call('ZREM', own('ended', 'zset'), id) == 0 then return 0 end
local j = fields(id, 2048, 'a', 'b', 'c')
unlink_files(id, number(j[1], 0), -1)
redis.call('UNLINK', P .. 'j:' .. id, P .. 'preview:' .. id)
redis.call('ZREM', own('jobs', 'zset'), id)
redis.call('ZREM', own('jobs:' .. j[3], 'zset'), id)
redis.call('DECRBY', ended_bytes(), string.format('%.0f', number(j[2], 0)))
tell(id, 0, 'forgotten', '', false)
return 1
)lua";

// COUNT is of each stream, and an entry that is given out is its worker's: so one stream at a time.
const std::string next = R"lua(
for i = 3, #ARGV do
  local got = redis.pcall('XREADGROUP', 'GROUP', 'workers', ARGV[2], 'COUNT', '1', 'STREAMS', ARGV[i], '>')
  if got and not got.err then
    local entry = got[1][2][1]
    return {ARGV[i], entry[1], entry[2]}
  end
end
return {}
)lua";

const std::string drop = common + R"lua(
redis.pcall('XACK', ARGV[2], 'workers', ARGV[3])
redis.pcall('XDEL', ARGV[2], ARGV[3])
if ARGV[4] ~= '' then letter(ARGV[5], ARGV[4]) end
return 1
)lua";

const std::string present = R"lua(
local all = {}
for i = 2, #ARGV, 2 do
  local got = redis.pcall('XRANGE', ARGV[i], ARGV[i + 1], ARGV[i + 1])
  all[#all + 1] = (got and not got.err and #got > 0) and 1 or 0
end
return all
)lua";

const std::string join = common + R"lua(
local time = redis.call('TIME')
redis.call('HDEL', own('members', 'hash'), '')
redis.call('HSET', P .. 'members', ARGV[2], ARGV[3])
redis.call('HSET', own('seen', 'hash'), ARGV[2],
           time[1] .. string.format('%03d', math.floor(tonumber(time[2]) / 1000)))
return 1
)lua";

const std::string leave = common + R"lua(
redis.call('HDEL', own('members', 'hash'), ARGV[2])
redis.call('HDEL', own('seen', 'hash'), ARGV[2])
for _, stream in ipairs(redis.call('SMEMBERS', own('streams', 'set'))) do
  local got = redis.pcall('XPENDING', stream, 'workers', '-', '+', '1', ARGV[2])
  if got and not got.err and #got == 0 then redis.pcall('XGROUP', 'DELCONSUMER', stream, 'workers', ARGV[2]) end
end
return 1
)lua";

const std::string groups = common + R"lua(
for i = 2, #ARGV do
  local stream = own(string.sub(ARGV[i], #P + 1), 'stream')
  redis.call('SADD', own('streams', 'set'), stream)
  redis.pcall('XGROUP', 'CREATE', stream, 'workers', '0', 'MKSTREAM')
end
return 1
)lua";

// Means in which the last weigh most, as StepTimes has them; of "" those over all work.
const std::string learn = common + R"lua(
local T = own('times', 'hash')
for _, work in ipairs({ARGV[2], ''}) do
  local known = redis.call('HGET', T, work)
  if not known and redis.call('HLEN', T) >= tonumber(ARGV[3]) then
    for _, other in ipairs(redis.call('HKEYS', T)) do
      if other ~= '' then
        redis.call('HDEL', T, other)
        break
      end
    end
  end
  local step, rest = string.match(known or '', '^(%S+) (%S+)$')
  step, rest = tonumber(step), tonumber(rest)
  local new_step, new_rest = tonumber(ARGV[4]), tonumber(ARGV[5])
  if new_step then step = step and step + tonumber(ARGV[6]) * (new_step - step) or new_step end
  rest = rest and rest + tonumber(ARGV[7]) * (new_rest - rest) or new_rest
  redis.call('HSET', T, work, string.format('%.6g %.6g', step or 0, rest))
end
return 1
)lua";

// The record stays for a day, for whoever looks into it.
const std::string bury = common + R"lua(
local id = ARGV[2]
local j = fields(id, 2048, 'c', 'b')
local known = redis.call('SISMEMBER', own('line', 'set'), id) + redis.call('ZREM', own('jobs', 'zset'), id)
leave_line(id, j[1])
redis.call('ZREM', own('jobs:' .. j[1], 'zset'), id)
if redis.call('ZREM', own('ended', 'zset'), id) == 1 then
  redis.call('DECRBY', ended_bytes(), string.format('%.0f', number(j[2], 0)))
end
redis.call('EXPIRE', P .. 'j:' .. id, '86400')
if known > 0 then letter(id, ARGV[3]) end
return known
)lua";

const std::string files = common + R"lua(
local key = own('f:' .. ARGV[2], 'hash')
if redis.call('HLEN', key) > tonumber(ARGV[3]) then return 0 end
local bytes = 0
for _, name in ipairs(redis.call('HKEYS', key)) do bytes = bytes + redis.call('HSTRLEN', key, name) end
return bytes <= tonumber(ARGV[4]) and 1 or 0
)lua";

}  // namespace omnirt::serve::scripts
