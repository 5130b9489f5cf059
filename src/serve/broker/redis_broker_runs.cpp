// What workers tell of themselves and their runs, files, and what servers tell their clients.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "serve/broker/redis_broker.hpp"
#include "serve/broker/redis_keys.hpp"
#include "serve/broker/redis_scripts.hpp"
#include "serve/job_names.hpp"

namespace omnirt::serve {
namespace {

// Files that no change of a job has named by then are gone.
constexpr const char* unnamed_seconds = "3600";

// What a worker takes into memory for one job. Workers and servers let in less (--max-result,
// --max-body).
constexpr int64_t most_file_bytes = int64_t{1} << 30;
constexpr const char* most_preview_bytes = "1048576";

std::string files_of(const std::string& job, int64_t attempt) {
  return fmt::format("{}:{}", job, attempt);
}

std::string files_key(const std::string& job, int64_t attempt) {
  return redis_prefix + "f:" + files_of(job, attempt);
}

[[noreturn]] void refuse_files(const std::string& name, const std::string& why) {
  throw InvalidFile({"files", shown_name(name), why, "submit the job again"});
}

SharedEvent read_event(const RedisReply& fields) {
  std::map<std::string, std::string> values;
  for (size_t n = 0; n + 1 < fields.size(); n += 2)
    values[fields.at(n).text()] = fields.at(n + 1).text();
  SharedEvent each{values["job"],
                   {redis_number(values["n"]), values["k"], values["d"], values["l"] == "1"}};
  each.forgotten = each.event.type == "forgotten";
  return each;
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

// Not by a script, in which the bytes would be copied twice more. The key expires from its first
// file on, unless a change of the job has named it already.
void RedisBroker::put_files(const std::string& job, int64_t attempt, const FileBytes& files) {
  const std::string key = files_key(job, attempt);
  const bool lasts = call({"TTL", key}).integer() == -1;
  for (const auto& [name, bytes] : files) {
    try {
      call({"HSET", key, name, bytes});
    } catch (const BrokerRefused& error) {
      if (error.code() != "WRONGTYPE") throw;
      call({"UNLINK", key});
      call({"HSET", key, name, bytes});
    }
    if (!lasts) call({"EXPIRE", key, unnamed_seconds});
  }
}

FileBytes RedisBroker::files(const std::string& job, int64_t attempt) {
  const RedisReply fits =
      run(scripts::files,
          {files_of(job, attempt), std::to_string(max_job_files), std::to_string(most_file_bytes)});
  if (fits.integer() == 0)
    refuse_files("", fmt::format("a job has more than {} files, or files of more than {} bytes",
                                 max_job_files, most_file_bytes));
  const RedisReply got = call({"HGETALL", files_key(job, attempt)});
  FileBytes all;
  for (size_t i = 0; i + 1 < got.size(); i += 2) {
    std::string name = got.at(i).text();
    if (!is_file_name(name)) refuse_files(name, "is not a file name");
    all[std::move(name)] = got.at(i + 1).text();
  }
  return all;
}

std::optional<std::string> RedisBroker::file(const std::string& job, int64_t attempt,
                                             const std::string& name) {
  if (!is_job_id(job) || !is_file_name(name)) return std::nullopt;
  const RedisReply got = call({"HGET", files_key(job, attempt), name});
  if (got.is_nil()) return std::nullopt;
  return got.text();
}

// False for a preview that a later one has replaced, or whose job has ended.
bool RedisBroker::complete(SharedEvent& event) {
  if (!is_job_id(event.job)) return false;
  if (event.forgotten) return true;
  if (event.event.type == "preview") {
    event.event.data =
        call({"GETRANGE", redis_prefix + "preview:" + event.job, "0", most_preview_bytes}).text();
    if (event.event.data.empty()) return false;
  }
  check_stored_event(event.event);
  return true;
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
    SharedEvent each = read_event(entries.at(i).at(1));
    try {
      if (complete(each)) all.push_back(std::move(each));
    } catch (const BrokerLost&) {
      throw;
    } catch (const Error& error) {
      spdlog::warn("an event at the broker is ignored: {}", error.what());
    }
  }
  return all;
}

int64_t RedisBroker::dead_letters() {
  return call({"XLEN", redis_prefix + "dead"}).integer();
}

void RedisBroker::try_write() {
  call({"SET", redis_prefix + "ready", "1", "PX", "1000"});
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
