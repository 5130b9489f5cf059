#pragma once
#include <string>

// What Redis does in one step, as it runs it (Lua). Each takes the keys' prefix first. Keys:
//   j:ID       a job: v version, d its text, r request, o result, e entry and s its stream, t the
//              token of the last change, st state, w worker, a attempts, x cancelling, p progress,
//              n the last event's number, c client, b bytes
//   line       jobs that are queued or running       ended, ended_bytes   those that have ended
//   jobs, jobs:CLIENT   all, by number               clients, shares      jobs and computing of
//   each streams, work:PART:MODEL   the work, with the group `workers` events, preview:ID, dead
//   what happened, the latest preview, dead letters members, seen              processes times
//   means per kind of work f:ID:ATTEMPT               files
namespace omnirt::serve::scripts {

// id, version, token, move, stream, text, state, worker, attempts, cancelling, files_attempt,
// client, number, ended_ms, bytes, request, result, event, last, dead
// -> {0} or {1, entry, stream}
extern const std::string commit;
// -> {seconds, microseconds, [[id, v, d, e, s, p]], [[member, text, seen]], shares, times, count,
// bytes, [[id, ms, bytes]]}
extern const std::string snapshot;
// job, worker, attempt, client, ms, progress, {type, data}... -> 0 lost, 1 held, 2 cancelling
extern const std::string beat;
// id
extern const std::string remove;
// worker, stream... -> {} or {stream, id, job}
extern const std::string next;
// stream, id, why, job
extern const std::string drop;
// {stream, id}... -> [0 or 1]
extern const std::string present;
// member, text
extern const std::string join;
// member
extern const std::string leave;
// work, most works, step_ms ("": none), other_ms, weights of both
extern const std::string learn;
// id, why
extern const std::string bury;

}  // namespace omnirt::serve::scripts
