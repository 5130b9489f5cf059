#include "serve/broker/redis_broker.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <charconv>

#include "serve/broker/redis_keys.hpp"
#include "serve/broker/redis_scripts.hpp"
#include "serve/http.hpp"

namespace omnirt::serve {
namespace {

std::string job_key(const std::string& id) {
  return redis_prefix + "j:" + id;
}

double decimal_of(const std::string& text) {
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number >= 0 && number < 1e15 ? number : 0;
}

JobProgress read_progress(const std::string& text) {
  JobProgress at;
  const size_t first = text.find(' '), second = text.find(' ', first + 1);
  if (first == std::string::npos || second == std::string::npos) return at;
  at.step = redis_number(text);
  at.steps = redis_number(text.substr(first + 1));
  at.stage = text.substr(second + 1, max_job_word_bytes);
  return at;
}

SharedJob job_of(const std::string& version, const std::string& text, const std::string& entry,
                 const std::string& stream, const std::string& progress) {
  SharedJob shared = read_shared_job(text);
  shared.version = redis_number(version);
  shared.entry = entry;
  shared.stream = stream;
  shared.progress = read_progress(progress);
  return shared;
}

std::string stream_of(WorkPart part, const std::string& model) {
  return fmt::format("{}work:{}:{}", redis_prefix, name_of(part), model);
}

std::vector<std::string> streams_of(const Member& worker) {
  std::vector<std::string> streams;
  // What is nearest to its end first.
  for (auto part = worker.parts.rbegin(); part != worker.parts.rend(); ++part) {
    for (const std::string& model : worker.models) streams.push_back(stream_of(*part, model));
  }
  return streams;
}

// {"job", ID, ...}; "" where there is no such field, or it is no id.
std::string job_of_entry(const RedisReply& fields) {
  if (fields.size() < 2 || fields.at(0).text() != "job") return "";
  std::string id = fields.at(1).text();
  return id.size() <= max_job_word_bytes ? id : "";
}

std::string digit_of(bool value) {
  return value ? "1" : "0";
}

std::string_view info_field(const std::string& text, std::string_view name) {
  const size_t at = text.find(name);
  if (at == std::string::npos) return "";
  const size_t start = at + name.size();
  return std::string_view(text).substr(start, text.find_first_of("\r\n", start) - start);
}

const char* name_of_move(Broker::Move move) {
  if (move == Broker::Move::stay) return "stay";
  return move == Broker::Move::put_in ? "put_in" : "take_out";
}

}  // namespace

RedisBroker::RedisBroker(RedisUrl url, int64_t patience_ms)
    : connection_(std::move(url), patience_ms) {
  connection_.on_connected = [this] { look_at_server(); };
}

RedisReply RedisBroker::call(const RedisConnection::Words& words, int64_t wait_ms) {
  std::scoped_lock lock(mutex_);
  return connection_.call(words, wait_ms);
}

RedisReply RedisBroker::run(const std::string& script, const std::vector<std::string>& arguments) {
  std::scoped_lock lock(mutex_);
  RedisConnection::Words words{redis_prefix};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return connection_.run(script, words);
}

// A server that was started again dropped all connections, so that each is told when that was.
void RedisBroker::look_at_server() {
  const std::string info = call({"INFO", "server"}).text();
  const std::string version(info_field(info, "redis_version:"));
  const int64_t major = redis_number(version);
  const size_t dot = version.find('.');
  const int64_t minor = dot == std::string::npos ? 0 : redis_number(version.substr(dot + 1));
  if (major < 6 || (major == 6 && minor < 2)) {
    throw Unsupported(
        {"--redis", "version " + version, "has no XAUTOCLAIM", "take Redis 6.2 or later"});
  }
  started_ms_ = now_ms() - 1000 * redis_number(std::string(info_field(info, "uptime_in_seconds:")));
}

int64_t RedisBroker::now_ms() {
  const RedisReply time = call({"TIME"});
  return redis_number(time.at(0).text()) * 1000 + redis_number(time.at(1).text()) / 1000;
}

void RedisBroker::read_line(const RedisReply& line, Snapshot& into) {
  for (size_t i = 0; i < line.size(); ++i) {
    const RedisReply each = line.at(i);
    const std::string id = each.at(0).text();
    try {
      into.line.push_back(job_of(each.at(1).text(), each.at(2).text(), each.at(3).text(),
                                 each.at(4).text(), each.at(5).text()));
      if (into.line.back().job.id == id) continue;
      into.line.pop_back();
    } catch (const InvalidFile& error) {
      spdlog::error("{}", error.what());
    }
    spdlog::error("job {} at the broker cannot be read; it is a dead letter now", id);
    run(scripts::bury, {id, "cannot be read"});
  }
}

Snapshot RedisBroker::snapshot() {
  const RedisReply all = run(scripts::snapshot, {});
  Snapshot now;
  now.now_us = redis_number(all.at(0).text()) * 1'000'000 + redis_number(all.at(1).text());
  now.up_ms = now.now_ms() - started_ms_;
  read_line(all.at(2), now);
  const RedisReply members = all.at(3), shares = all.at(4), times = all.at(5), oldest = all.at(8);
  for (size_t i = 0; i < members.size(); ++i) {
    const RedisReply each = members.at(i);
    try {
      Member member = read_member(each.at(1).text());
      member.id = each.at(0).text();
      member.seen_ms = redis_number(each.at(2).text());
      now.members.push_back(std::move(member));
    } catch (const InvalidFile& error) {
      spdlog::error("{}", error.what());
      leave(each.at(0).text());
    }
  }
  for (size_t i = 0; i + 1 < shares.size(); i += 2)
    now.shares[shares.at(i).text()] = decimal_of(shares.at(i + 1).text());
  for (size_t i = 0; i + 1 < times.size(); i += 2) {
    const std::string means = times.at(i + 1).text();
    const size_t space = means.find(' ');
    if (space == std::string::npos) continue;
    now.times.set(times.at(i).text(), decimal_of(means), decimal_of(means.substr(space + 1)));
  }
  now.ended_count = static_cast<size_t>(all.at(6).integer());
  now.ended_bytes = redis_number(all.at(7).text());
  for (size_t i = 0; i < oldest.size(); ++i) {
    const RedisReply each = oldest.at(i);
    now.oldest.push_back(
        {each.at(0).text(), redis_number(each.at(1).text()), redis_number(each.at(2).text())});
  }
  return now;
}

std::optional<SharedJob> RedisBroker::find(const std::string& id, bool with_request) {
  const std::string key = job_key(id);
  RedisConnection::Words words{"HMGET", key, "v", "d", "e", "s", "p", "o"};
  if (with_request) words.push_back("r");
  const RedisReply got = call(words);
  if (got.at(1).is_nil()) return std::nullopt;
  SharedJob shared = job_of(got.at(0).text(), got.at(1).text(), got.at(2).text(), got.at(3).text(),
                            got.at(4).text());
  shared.job.result = got.at(5).text();
  if (with_request) shared.job.request = got.at(6).text();
  return shared;
}

std::vector<SharedJob> RedisBroker::list(const std::string& client, size_t most) {
  const std::string key = redis_prefix + (client.empty() ? "jobs" : "jobs:" + client);
  const RedisReply ids =
      call({"ZREVRANGE", key, "0", std::to_string(static_cast<int64_t>(most) - 1)});
  std::vector<SharedJob> all;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (auto found = find(ids.at(i).text(), false)) all.push_back(std::move(*found));
  }
  return all;
}

bool RedisBroker::commit(SharedJob& shared, Move move) {
  const Job& job = shared.job;
  const bool ended = has_ended(job.state);
  const RedisReply got = run(scripts::commit, {job.id,
                                               std::to_string(shared.version),
                                               random_id(),
                                               name_of_move(move),
                                               stream_of(shared.part, job.model),
                                               shared_job_text(shared),
                                               name_of(job.state),
                                               shared.worker,
                                               std::to_string(job.attempts),
                                               digit_of(job.cancelling),
                                               std::to_string(shared.files_attempt),
                                               job.client,
                                               std::to_string(job.number),
                                               std::to_string(job.ended_ms),
                                               std::to_string(job.bytes),
                                               job.request,
                                               job.result,
                                               move == Move::put_in ? "" : state_event(job),
                                               digit_of(ended),
                                               digit_of(job.state == JobState::dead)});
  if (got.at(0).integer() == 0) return false;
  ++shared.version;
  shared.entry = got.at(1).text();
  shared.stream = got.at(2).text();
  return true;
}

void RedisBroker::remove(const std::string& job) {
  run(scripts::remove, {job});
}

void RedisBroker::make_groups(const std::vector<std::string>& streams) {
  for (const std::string& stream : streams) {
    call({"SADD", redis_prefix + "streams", stream});
    try {
      call({"XGROUP", "CREATE", stream, "workers", "0", "MKSTREAM"});
    } catch (const RunFailed& error) {
      if (std::string_view(error.what()).find("BUSYGROUP") == std::string_view::npos) throw;
    }
  }
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
  } catch (const RunFailed& error) {
    if (std::string_view(error.what()).find("NOGROUP") == std::string_view::npos) throw;
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
    RedisReply got;
    try {
      got = call({"XAUTOCLAIM", stream, "workers", by.id, idle, "0-0", "COUNT", "64"});
    } catch (const RunFailed& error) {
      if (std::string_view(error.what()).find("NOGROUP") == std::string_view::npos) throw;
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
