// What workers tell of themselves and their runs, files, and what servers tell their clients.
#include <fmt/format.h>

#include "serve/broker/redis_broker.hpp"
#include "serve/broker/redis_keys.hpp"
#include "serve/broker/redis_scripts.hpp"

namespace omnirt::serve {
namespace {

// Files that no change of a job has named by then are gone.
constexpr const char* unnamed_seconds = "3600";

std::string files_key(const std::string& job, int64_t attempt) {
  return fmt::format("{}f:{}:{}", redis_prefix, job, attempt);
}

}  // namespace

void RedisBroker::join(const Member& member) {
  run(scripts::join, {member.id, member_text(member)});
}

void RedisBroker::leave(const std::string& member) {
  run(scripts::leave, {member});
}

Broker::Standing RedisBroker::beat(const WorkLease& lease, const RunNews& news) {
  const JobProgress& at = news.progress;
  std::vector<std::string> arguments{lease.job,
                                     lease.worker,
                                     std::to_string(lease.attempt),
                                     news.client,
                                     fmt::format("{:.3f}", news.computed_ms),
                                     fmt::format("{} {} {}", at.step, at.steps, at.stage)};
  for (const auto& [type, data] : news.events) {
    arguments.push_back(type);
    arguments.push_back(data);
  }
  switch (run(scripts::beat, arguments).integer()) {
    case 1:
      return Standing::held;
    case 2:
      return Standing::cancelling;
    default:
      return Standing::lost;
  }
}

void RedisBroker::learn(const std::string& work, int64_t steps, double steps_ms, double other_ms) {
  const std::string step =
      steps > 0 ? fmt::format("{:.3f}", steps_ms / static_cast<double>(steps)) : "";
  run(scripts::learn,
      {work, std::to_string(StepTimes::most_works), step, fmt::format("{:.3f}", other_ms),
       fmt::format("{}", StepTimes::step_weight), fmt::format("{}", StepTimes::other_weight)});
}

void RedisBroker::put_files(const std::string& job, int64_t attempt, const FileBytes& files) {
  const std::string key = files_key(job, attempt);
  for (const auto& [name, bytes] : files) call({"HSET", key, name, bytes});
  call({"EXPIRE", key, unnamed_seconds});
}

FileBytes RedisBroker::files(const std::string& job, int64_t attempt) {
  const RedisReply got = call({"HGETALL", files_key(job, attempt)});
  FileBytes all;
  for (size_t i = 0; i + 1 < got.size(); i += 2) all[got.at(i).text()] = got.at(i + 1).text();
  return all;
}

std::optional<std::string> RedisBroker::file(const std::string& job, int64_t attempt,
                                             const std::string& name) {
  const RedisReply got = call({"HGET", files_key(job, attempt), name});
  if (got.is_nil()) return std::nullopt;
  return got.text();
}

std::vector<SharedEvent> RedisBroker::events(std::string& after, int64_t wait_ms) {
  const std::string stream = redis_prefix + "events";
  const RedisReply got =
      call({"XREAD", "COUNT", "256", "BLOCK", std::to_string(wait_ms), "STREAMS", stream, after},
           wait_ms);
  std::vector<SharedEvent> all;
  if (got.size() == 0) return all;
  const RedisReply entries = got.at(0).at(1);
  for (size_t i = 0; i < entries.size(); ++i) {
    after = entries.at(i).at(0).text();
    const RedisReply fields = entries.at(i).at(1);
    std::map<std::string, std::string> values;
    for (size_t n = 0; n + 1 < fields.size(); n += 2)
      values[fields.at(n).text()] = fields.at(n + 1).text();
    SharedEvent each{values["job"],
                     {redis_number(values["n"]), values["k"], values["d"], values["l"] == "1"}};
    each.forgotten = each.event.type == "forgotten";
    if (each.event.type == "preview")
      each.event.data = call({"GET", redis_prefix + ("preview:" + each.job)}).text();
    // A preview that a later one replaced, or whose job is over.
    if (each.event.type != "preview" || !each.event.data.empty()) all.push_back(std::move(each));
  }
  return all;
}

int64_t RedisBroker::dead_letters() {
  return call({"XLEN", redis_prefix + "dead"}).integer();
}

std::vector<std::string> RedisBroker::doubts() {
  const std::string info = call({"INFO", "persistence"}).text() + call({"INFO", "memory"}).text();
  std::vector<std::string> all;
  if (info.find("aof_enabled:0") != std::string::npos)
    all.emplace_back(
        "Redis keeps no append-only file: jobs are lost when it ends (appendonly yes, "
        "appendfsync always)");
  if (info.find("maxmemory_policy:noeviction") == std::string::npos)
    all.emplace_back("Redis may evict jobs when its memory is full (maxmemory-policy noeviction)");
  return all;
}

}  // namespace omnirt::serve
