#include "serve/broker/redis_scripts.hpp"

namespace omnirt::serve::scripts {

// A change whose answer was lost comes again: its token is then the job's.
const std::string commit = R"lua(
local P, id = ARGV[1], ARGV[2]
local want, token, move, stream = tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6]
local text, state, worker, attempts, cancelling = ARGV[7], ARGV[8], ARGV[9], ARGV[10], ARGV[11]
local kept_files, client, number, ended_ms = ARGV[12], ARGV[13], ARGV[14], ARGV[15]
local bytes, request, result, event = ARGV[16], ARGV[17], ARGV[18], ARGV[19]
local last, dead = ARGV[20] == '1', ARGV[21] == '1'
local J = P .. 'j:' .. id
local have = tonumber(redis.call('HGET', J, 'v') or '0')
local e, s = redis.call('HGET', J, 'e') or '', redis.call('HGET', J, 's') or ''
if have == want + 1 and redis.call('HGET', J, 't') == token then return {1, e, s} end
if have ~= want then return {0} end
if move ~= 'stay' and e ~= '' then
  redis.pcall('XACK', s, 'workers', e)
  redis.call('XDEL', s, e)
  e, s = '', ''
end
if move == 'put_in' then
  s = stream
  redis.call('SADD', P .. 'streams', s)
  redis.pcall('XGROUP', 'CREATE', s, 'workers', '0', 'MKSTREAM')
  e = redis.call('XADD', s, '*', 'job', id)
end
redis.call('HSET', J, 'v', want + 1, 'd', text, 't', token, 'e', e, 's', s, 'st', state, 'w', worker,
           'a', attempts, 'x', cancelling)
if want == 0 then
  redis.call('HSET', J, 'r', request, 'c', client)
  redis.call('ZADD', P .. 'jobs', number, id)
  redis.call('ZADD', P .. 'jobs:' .. client, number, id)
  if redis.call('HINCRBY', P .. 'clients', client, 1) == 1 then
    local least
    for _, had in ipairs(redis.call('HVALS', P .. 'shares')) do
      least = math.min(least or tonumber(had), tonumber(had))
    end
    redis.call('HSET', P .. 'shares', client, tostring(least or 0))
  end
end
redis.call('PERSIST', P .. 'f:' .. id .. ':' .. kept_files)
if last then
  redis.call('HSET', J, 'o', result, 'b', bytes)
  redis.call('HDEL', J, 'r', 'p')
  redis.call('SREM', P .. 'line', id)
  redis.call('ZADD', P .. 'ended', ended_ms, id)
  redis.call('INCRBY', P .. 'ended_bytes', bytes)
  if redis.call('HINCRBY', P .. 'clients', client, -1) <= 0 then
    redis.call('HDEL', P .. 'clients', client)
    redis.call('HDEL', P .. 'shares', client)
  end
  for a = 0, tonumber(attempts) do
    if state ~= 'done' or a ~= tonumber(kept_files) then redis.call('UNLINK', P .. 'f:' .. id .. ':' .. a) end
  end
  redis.call('UNLINK', P .. 'preview:' .. id)
else
  redis.call('SADD', P .. 'line', id)
end
if event ~= '' then
  local base = tonumber(attempts) * 1000000
  local n = math.max(base, tonumber(redis.call('HGET', J, 'n') or '-1') + 1)
  if last then n = math.max(n, base + 999999) end
  redis.call('HSET', J, 'n', string.format('%.0f', n))
  redis.call('XADD', P .. 'events', 'MAXLEN', '~', '10000', '*', 'job', id, 'n', string.format('%.0f', n),
             'k', 'state', 'd', event, 'l', last and '1' or '0')
end
if dead then redis.call('XADD', P .. 'dead', 'MAXLEN', '~', '1000', '*', 'job', id, 'why', event) end
return {1, e, s}
)lua";

const std::string snapshot = R"lua(
local P = ARGV[1]
local time = redis.call('TIME')
local line, members, oldest = {}, {}, {}
for _, id in ipairs(redis.call('SMEMBERS', P .. 'line')) do
  local j = redis.call('HMGET', P .. 'j:' .. id, 'v', 'd', 'e', 's', 'p')
  line[#line + 1] = {id, j[1] or '0', j[2] or '', j[3] or '', j[4] or '', j[5] or ''}
end
local all = redis.call('HGETALL', P .. 'members')
for i = 1, #all, 2 do
  members[#members + 1] = {all[i], all[i + 1], redis.call('HGET', P .. 'seen', all[i]) or '0'}
end
local ended = redis.call('ZRANGE', P .. 'ended', '0', '31', 'WITHSCORES')
for i = 1, #ended, 2 do
  oldest[#oldest + 1] = {ended[i], ended[i + 1], redis.call('HGET', P .. 'j:' .. ended[i], 'b') or '0'}
end
return {time[1], time[2], line, members, redis.call('HGETALL', P .. 'shares'), redis.call('HGETALL', P .. 'times'),
        redis.call('ZCARD', P .. 'ended'), redis.call('GET', P .. 'ended_bytes') or '0', oldest}
)lua";

const std::string beat = R"lua(
local P, id, worker, attempt, client = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local J = P .. 'j:' .. id
local j = redis.call('HMGET', J, 'st', 'w', 'a', 'x', 'e', 's', 'n')
if j[1] ~= 'running' or j[2] ~= worker or j[3] ~= attempt then return 0 end
redis.pcall('XCLAIM', j[6], 'workers', worker, '0', j[5], 'JUSTID')
if redis.call('HEXISTS', P .. 'shares', client) == 1 then
  redis.call('HINCRBYFLOAT', P .. 'shares', client, ARGV[6])
end
if ARGV[7] ~= '' then redis.call('HSET', J, 'p', ARGV[7]) end
local n = tonumber(j[7] or '0')
for i = 8, #ARGV, 2 do
  n = math.max(tonumber(attempt) * 1000000, n + 1)
  local data = ARGV[i + 1]
  if ARGV[i] == 'preview' then
    redis.call('SET', P .. 'preview:' .. id, data, 'EX', '3600')
    data = ''
  end
  redis.call('XADD', P .. 'events', 'MAXLEN', '~', '10000', '*', 'job', id, 'n', string.format('%.0f', n), 'k', ARGV[i],
             'd', data, 'l', '0')
end
redis.call('HSET', J, 'n', string.format('%.0f', n))
return j[4] == '1' and 2 or 1
)lua";

const std::string remove = R"lua(
local P, id = ARGV[1], ARGV[2]
local J = P .. 'j:' .. id
if not redis.call('ZSCORE', P .. 'ended', id) then return 0 end
local j = redis.call('HMGET', J, 'a', 'b', 'c')
for a = 0, tonumber(j[1] or '0') do redis.call('UNLINK', P .. 'f:' .. id .. ':' .. a) end
redis.call('UNLINK', J, P .. 'preview:' .. id)
redis.call('ZREM', P .. 'jobs', id)
redis.call('ZREM', P .. 'jobs:' .. (j[3] or ''), id)
redis.call('ZREM', P .. 'ended', id)
redis.call('DECRBY', P .. 'ended_bytes', j[2] or '0')
redis.call('XADD', P .. 'events', 'MAXLEN', '~', '10000', '*', 'job', id, 'n', '0', 'k', 'forgotten', 'd', '', 'l', '0')
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

const std::string drop = R"lua(
redis.pcall('XACK', ARGV[2], 'workers', ARGV[3])
redis.pcall('XDEL', ARGV[2], ARGV[3])
if ARGV[4] ~= '' then
  redis.call('XADD', ARGV[1] .. 'dead', 'MAXLEN', '~', '1000', '*', 'job', ARGV[5], 'why', ARGV[4])
end
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

const std::string join = R"lua(
local time = redis.call('TIME')
redis.call('HSET', ARGV[1] .. 'members', ARGV[2], ARGV[3])
redis.call('HSET', ARGV[1] .. 'seen', ARGV[2], time[1] .. string.format('%03d', math.floor(tonumber(time[2]) / 1000)))
return 1
)lua";

const std::string leave = R"lua(
local P = ARGV[1]
redis.call('HDEL', P .. 'members', ARGV[2])
redis.call('HDEL', P .. 'seen', ARGV[2])
for _, stream in ipairs(redis.call('SMEMBERS', P .. 'streams')) do
  local got = redis.pcall('XPENDING', stream, 'workers', '-', '+', '1', ARGV[2])
  if got and not got.err and #got == 0 then redis.pcall('XGROUP', 'DELCONSUMER', stream, 'workers', ARGV[2]) end
end
return 1
)lua";

// Means in which the last weigh most, as StepTimes has them; of "" those over all work.
const std::string learn = R"lua(
local T = ARGV[1] .. 'times'
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

const std::string bury = R"lua(
local P = ARGV[1]
if redis.call('SREM', P .. 'line', ARGV[2]) == 0 then return 0 end
redis.call('XADD', P .. 'dead', 'MAXLEN', '~', '1000', '*', 'job', ARGV[2], 'why', ARGV[3])
return 1
)lua";

}  // namespace omnirt::serve::scripts
