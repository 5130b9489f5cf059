// Work streams: who is given which entry.
#include "serve/broker/redis_broker.hpp"
#include "serve/broker/redis_keys.hpp"
#include "serve/broker/redis_scripts.hpp"
#include "serve/job_names.hpp"

namespace omnirt::serve {
namespace {

std::vector<std::string> streams_of(const Member& worker) {
  std::vector<std::string> streams;
  // What is nearest to its end first.
  for (auto part = worker.parts.rbegin(); part != worker.parts.rend(); ++part) {
    for (const std::string& model : worker.models)
      streams.push_back(redis_stream(name_of(*part), model));
  }
  return streams;
}

// {"job", ID, ...}; "" where there is no such field, or it is no id.
std::string job_of_entry(const RedisReply& fields) {
  if (fields.size() < 2 || fields.at(0).text() != "job") return "";
  std::string id = fields.at(1).text();
  return is_job_id(id) ? id : "";
}

}  // namespace

void RedisBroker::make_groups(const std::vector<std::string>& streams) {
  run(scripts::groups, streams);
}

// Blocks on all streams: the one that is written to first answers.
std::optional<WorkEntry> RedisBroker::wait_for(const Member& worker,
                                               const std::vector<std::string>& streams,
                                               int64_t wait_ms) {
  const std::string block = std::to_string(wait_ms);
  RedisConnection::Words words{"XREADGROUP", "GROUP", "workers", worker.id, "COUNT",
                               "1",          "BLOCK", block,     "STREAMS"};
  for (const std::string& each : streams) words.push_back(each);
  words.insert(words.end(), streams.size(), ">");
  const RedisReply got = call(words, wait_ms);
  std::optional<WorkEntry> found;
  for (size_t i = 0; i < got.size(); ++i) {
    const RedisReply entry = got.at(i).at(1).at(0);
    WorkEntry each{got.at(i).at(0).text(), entry.at(0).text(), job_of_entry(entry.at(1))};
    if (!found) found = std::move(each);
    // Of two streams at once the second entry is its owner's until it is claimed.
  }
  return found;
}

std::optional<WorkEntry> RedisBroker::next(const Member& worker, int64_t wait_ms) {
  const std::vector<std::string> streams = streams_of(worker);
  std::vector<std::string> arguments{worker.id};
  arguments.insert(arguments.end(), streams.begin(), streams.end());
  const RedisReply got = run(scripts::next, arguments);
  if (got.size() > 0) return WorkEntry{got.at(0).text(), got.at(1).text(), job_of_entry(got.at(2))};
  if (wait_ms <= 0) return std::nullopt;
  try {
    return wait_for(worker, streams, wait_ms);
  } catch (const BrokerRefused& error) {
    if (error.code() != "NOGROUP" && error.code() != "WRONGTYPE") throw;
  }
  make_groups(streams);
  return std::nullopt;
}

std::vector<WorkEntry> RedisBroker::pending(const Member& worker) {
  const std::vector<std::string> streams = streams_of(worker);
  make_groups(streams);
  RedisConnection::Words words{"XREADGROUP", "GROUP", "workers", worker.id, "STREAMS"};
  for (const std::string& each : streams) words.push_back(each);
  words.insert(words.end(), streams.size(), "0");
  const RedisReply got = call(words);
  std::vector<WorkEntry> all;
  for (size_t i = 0; i < got.size(); ++i) {
    const std::string stream = got.at(i).at(0).text();
    const RedisReply entries = got.at(i).at(1);
    for (size_t n = 0; n < entries.size(); ++n) {
      const std::string id = entries.at(n).at(0).text();
      if (entries.at(n).at(1).is_nil())  // removed since
        call({"XACK", stream, "workers", id});
      else
        all.push_back({stream, id, job_of_entry(entries.at(n).at(1))});
    }
  }
  return all;
}

std::vector<WorkEntry> RedisBroker::claim(const Member& by, int64_t idle_ms) {
  const RedisReply streams = call({"SMEMBERS", redis_prefix + "streams"});
  const std::string idle = std::to_string(idle_ms);
  std::vector<WorkEntry> all;
  for (size_t i = 0; i < streams.size(); ++i) {
    const std::string stream = streams.at(i).text();
    if (!stream.starts_with(redis_prefix + "work:")) continue;
    RedisReply got;
    try {
      got = call({"XAUTOCLAIM", stream, "workers", by.id, idle, "0-0", "COUNT", "64"});
    } catch (const BrokerRefused& error) {
      if (error.code() != "NOGROUP" && error.code() != "WRONGTYPE") throw;
      continue;
    }
    const RedisReply entries = got.at(1);
    for (size_t n = 0; n < entries.size(); ++n) {
      if (entries.at(n).is_nil()) continue;  // removed, as 6.2 tells it
      all.push_back({stream, entries.at(n).at(0).text(), job_of_entry(entries.at(n).at(1))});
    }
  }
  return all;
}

void RedisBroker::drop(const WorkEntry& entry, const std::string& why) {
  run(scripts::drop, {entry.stream, entry.id, why, entry.job});
}

std::vector<bool> RedisBroker::present(const std::vector<WorkEntry>& entries) {
  std::vector<std::string> arguments;
  for (const WorkEntry& each : entries) {
    arguments.push_back(each.stream);
    arguments.push_back(each.id);
  }
  const RedisReply got = run(scripts::present, arguments);
  std::vector<bool> all;
  for (size_t i = 0; i < entries.size(); ++i) all.push_back(got.at(i).integer() == 1);
  return all;
}

}  // namespace omnirt::serve
