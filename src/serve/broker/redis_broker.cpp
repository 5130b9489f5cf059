#include "serve/broker/redis_broker.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>

#include "serve/broker/redis_keys.hpp"
#include "serve/broker/redis_scripts.hpp"
#include "serve/http.hpp"
#include "serve/job_names.hpp"

namespace omnirt::serve {
namespace {

// Milliseconds: of a step, or of a client's computing. Sums over all jobs stay whole numbers.
double decimal_of(const std::string& text) {
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number >= 0 && number < 1e12 ? number : 0;
}

double time_of(const std::string& text) {
  return std::min(decimal_of(text), 1e8);
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

[[noreturn]] void refuse(const char* field, const std::string& value) {
  throw InvalidFile({std::string("a job of the broker's: ") + field, shown_name(value),
                     "is not what this program writes there", ""});
}

// {v, d, e, s, p} of a job that is kept under this id.
SharedJob job_of(const std::string& id, const RedisReply& fields) {
  const std::string version = fields.at(0).text(), stream = fields.at(3).text();
  SharedJob shared = read_shared_job(fields.at(1).text());
  if (shared.job.id != id) refuse("id", shared.job.id);
  shared.version = redis_number(version);
  if (shared.version == 0) refuse("version", version);
  if (!stream.empty() && !stream.starts_with(redis_prefix + "work:")) refuse("stream", stream);
  shared.entry = stream.empty() ? "" : fields.at(2).text();
  shared.stream = stream;
  shared.progress = read_progress(fields.at(4).text());
  return shared;
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
  try {
    return connection_.call(words, wait_ms);
  } catch (const BrokerLost&) {
    was_lost_ = true;
    throw;
  }
}

RedisReply RedisBroker::run(const std::string& script, const std::vector<std::string>& arguments) {
  std::scoped_lock lock(mutex_);
  RedisConnection::Words words{redis_prefix};
  words.insert(words.end(), arguments.begin(), arguments.end());
  try {
    return connection_.run(script, words);
  } catch (const BrokerLost&) {
    was_lost_ = true;
    throw;
  }
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

// Skipped from now on, and noted for whoever looks into it.
void RedisBroker::bury(const std::string& id, const std::string& why) {
  spdlog::error("job {} at the broker cannot be read and is a dead letter now: {}", shown_name(id),
                why);
  run(scripts::bury, {id, "cannot be read"});
}

void RedisBroker::read_line(const RedisReply& line, Snapshot& into) {
  for (size_t i = 0; i < line.size(); ++i) {
    const std::string id = line.at(i).at(0).text();
    try {
      into.line.push_back(job_of(id, line.at(i).at(1)));
    } catch (const InvalidFile& error) {
      bury(id, error.what());
    }
  }
}

void RedisBroker::read_members(const RedisReply& members, Snapshot& into) {
  for (size_t i = 0; i < members.size(); ++i) {
    const RedisReply each = members.at(i);
    const std::string id = each.at(0).text();
    try {
      Member member = read_member(each.at(1).text());
      member.id = id;
      if (id.size() > max_job_word_bytes)
        throw InvalidFile({"member", shown_name(id), "is too long", ""});
      member.seen_ms = redis_number(each.at(2).text());
      into.members.push_back(std::move(member));
    } catch (const InvalidFile& error) {
      spdlog::error("{}", error.what());
      leave(id);
    }
  }
}

// Others could not beat while this process could not, and look dead until they do again.
int64_t RedisBroker::up_since(int64_t now_ms) {
  if (was_lost_) back_ms_ = now_ms;
  was_lost_ = false;
  return std::max(started_ms_, back_ms_);
}

Snapshot RedisBroker::snapshot() {
  const std::scoped_lock lock(mutex_);
  const RedisReply all = run(scripts::snapshot, {});
  Snapshot now;
  now.now_us = redis_number(all.at(0).text()) * 1'000'000 + redis_number(all.at(1).text());
  now.up_ms = now.now_ms() - up_since(now.now_ms());
  read_line(all.at(2), now);
  read_members(all.at(3), now);
  const RedisReply shares = all.at(4), times = all.at(5), oldest = all.at(8);
  for (size_t i = 0; i + 1 < shares.size(); i += 2)
    now.shares[shares.at(i).text()] = decimal_of(shares.at(i + 1).text());
  for (size_t i = 0; i + 1 < times.size(); i += 2) {
    const std::string means = times.at(i + 1).text();
    const size_t space = means.find(' ');
    if (space == std::string::npos) continue;
    now.times.set(times.at(i).text(), time_of(means), time_of(means.substr(space + 1)));
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
  if (!is_job_id(id)) return std::nullopt;
  const RedisReply got = run(scripts::job, {id, digit_of(with_request)});
  if (got.size() == 0) return std::nullopt;
  try {
    SharedJob shared = job_of(id, got.at(0));
    shared.job.result = got.at(1).text();
    shared.job.request = got.at(2).text();
    return shared;
  } catch (const InvalidFile& error) {
    bury(id, error.what());
    return std::nullopt;
  }
}

std::vector<SharedJob> RedisBroker::list(const std::string& client, size_t most) {
  const std::string key = redis_prefix + (client.empty() ? "jobs" : "jobs:" + client);
  const RedisReply ids =
      call({"ZREVRANGE", key, "0", std::to_string(static_cast<int64_t>(most) - 1)});
  std::vector<SharedJob> all;
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string id = ids.at(i).text();
    if (auto found = find(id, false))
      all.push_back(std::move(*found));
    else if (!is_job_id(id))
      bury(id, "is not the id of a job");
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
                                               redis_stream(name_of(shared.part), job.model),
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

}  // namespace omnirt::serve
