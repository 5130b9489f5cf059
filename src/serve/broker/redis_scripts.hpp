#pragma once
#include <string>

// The scripts (Lua) that Redis runs, each as one step. The first argument of each is the prefix of
// all keys. Keys:
//   j:ID               a job: v version, d its text, r request, o result, e entry and s its stream,
//                      t token of the last change, st state, w worker, a attempts, x cancelling,
//                      p progress, n number of the last event, c client, b bytes
//   line               jobs that are queued or running
//   ended, ended_bytes jobs that have ended, by time, and the bytes of their files
//   jobs, jobs:CLIENT  all jobs, by number
//   clients, shares    how many jobs each client has, and how much computing it had
//   streams            the streams work:PART:MODEL, with the consumer group `workers`
//   events             what happened; preview:ID the latest preview; dead the dead letters
//   members, seen      processes, and when each last beat
//   times              mean times per kind of work
//   f:ID:ATTEMPT       files
namespace omnirt::serve::scripts {

// id, version, token, move, stream, text, state, worker, attempts, cancelling, files_attempt,
// client, number, ended_ms, bytes, request, result, event, last, dead
// -> {0} or {1, entry, stream}
extern const std::string commit;
// -> {seconds, microseconds, [[id, [v, d, e, s, p]]], [[member, text, seen]], shares, times, count,
// bytes, [[id, ms, bytes]]}
extern const std::string snapshot;
// id, request or not -> {} or {[v, d, e, s, p], result, request}
extern const std::string job;
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
// stream...
extern const std::string groups;
// id, why -> whether it was listed anywhere
extern const std::string bury;
// "JOB:ATTEMPT", most files, most bytes -> whether there are no more
extern const std::string files;

}  // namespace omnirt::serve::scripts
