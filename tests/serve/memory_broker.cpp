#include "serve/memory_broker.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace omnirt::serve {

std::string MemoryBroker::stream_of(WorkPart part, const std::string& model) {
  return fmt::format("{}:{}", name_of(part), model);
}

void MemoryBroker::call(const std::function<void()>& work) {
  const Fault now = fault();
  if (now != Fault::before) work();
  if (now != Fault::none) throw BrokerLost("by the seed");
}

int64_t MemoryBroker::now_ms() {
  return now;
}

Snapshot MemoryBroker::snapshot() {
  Snapshot made;
  call([&] {
    made.now_us = now * 1000;
    made.up_ms = now - started;
    for (const std::string& id : line_) made.line.push_back(jobs_.at(id));
    for (const auto& [id, member] : members_) made.members.push_back(member);
    made.shares = shares_;
    made.times = times_;
    made.ended_count = ended_.size();
    made.ended_bytes = ended_bytes_;
    for (const auto& [ms, id] : ended_) {
      made.oldest.push_back({id, ms, jobs_.at(id).job.bytes});
      if (made.oldest.size() == 8) break;
    }
  });
  return made;
}

std::optional<SharedJob> MemoryBroker::find(const std::string& id, bool) {
  std::optional<SharedJob> found;
  call([&] {
    auto it = jobs_.find(id);
    if (it != jobs_.end()) found = it->second;
  });
  return found;
}

std::vector<SharedJob> MemoryBroker::list(const std::string& client, size_t most) {
  std::vector<SharedJob> all;
  call([&] {
    for (const auto& [id, each] : jobs_) {
      if (client.empty() || each.job.client == client) all.push_back(each);
    }
    std::sort(all.begin(), all.end(),
              [](const SharedJob& a, const SharedJob& b) { return a.job.number > b.job.number; });
    all.resize(std::min(all.size(), most));
  });
  return all;
}

void MemoryBroker::take_out(SharedJob& job) {
  if (!job.entry.empty()) streams_[job.stream].erase(std::stoll(job.entry));
  job.entry.clear();
  job.stream.clear();
}

bool MemoryBroker::commit(SharedJob& job, Move move) {
  bool done = false;
  call([&] {
    auto it = jobs_.find(job.job.id);
    if ((it == jobs_.end() ? 0 : it->second.version) != job.version) return;
    SharedJob after = job;
    ++after.version;
    if (move != Move::stay) take_out(after);
    if (move == Move::put_in) {
      after.stream = stream_of(job.part, job.job.model);
      after.entry = std::to_string(next_entry_);
      streams_[after.stream][next_entry_++] = {after.job.id};
    }
    const bool is_new = it == jobs_.end(), ends = has_ended(after.job.state);
    if (on_commit) on_commit(is_new ? nullptr : &it->second, after);
    const std::string& client = after.job.client;
    if (is_new && clients_[client]++ == 0) {
      double least = 0;
      if (!shares_.empty()) {
        least = std::min_element(shares_.begin(), shares_.end(), [](const auto& a, const auto& b) {
                  return a.second < b.second;
                })->second;
      }
      shares_[client] = least;
    }
    line_.insert(after.job.id);
    if (ends) {
      line_.erase(after.job.id);
      ended_.emplace(after.job.ended_ms, after.job.id);
      ended_bytes_ += after.job.bytes;
      if (--clients_[client] == 0) {
        clients_.erase(client);
        shares_.erase(client);
      }
      if (after.job.state == JobState::dead) ++dead_letters;
    }
    jobs_[after.job.id] = after;
    job.version = after.version;
    job.entry = after.entry;
    job.stream = after.stream;
    done = true;
  });
  return done;
}

void MemoryBroker::remove(const std::string& job) {
  call([&] {
    auto it = jobs_.find(job);
    if (it == jobs_.end()) return;
    ended_.erase({it->second.job.ended_ms, job});
    ended_bytes_ -= it->second.job.bytes;
    for (int64_t attempt = 0; attempt <= it->second.job.attempts; ++attempt)
      files_.erase({job, attempt});
    jobs_.erase(it);
  });
}

std::optional<WorkEntry> MemoryBroker::next(const Member& worker, int64_t) {
  std::optional<WorkEntry> found;
  call([&] {
    for (WorkPart part : worker.parts) {
      for (const std::string& model : worker.models) {
        const std::string stream = stream_of(part, model);
        for (auto& [id, entry] : streams_[stream]) {
          if (!entry.owner.empty()) continue;
          entry.owner = worker.id;
          entry.beaten = now;
          found = WorkEntry{stream, std::to_string(id), entry.job};
          return;
        }
      }
    }
  });
  return found;
}

std::vector<WorkEntry> MemoryBroker::pending(const Member& worker) {
  std::vector<WorkEntry> all;
  call([&] {
    for (const auto& [name, stream] : streams_) {
      for (const auto& [id, entry] : stream) {
        if (entry.owner == worker.id) all.push_back({name, std::to_string(id), entry.job});
      }
    }
  });
  return all;
}

std::vector<WorkEntry> MemoryBroker::claim(const Member& by, int64_t idle_ms) {
  std::vector<WorkEntry> claimed;
  call([&] {
    for (auto& [name, stream] : streams_) {
      for (auto& [id, entry] : stream) {
        if (entry.owner.empty() || now - entry.beaten < idle_ms) continue;
        entry.owner = by.id;
        entry.beaten = now;
        claimed.push_back({name, std::to_string(id), entry.job});
      }
    }
  });
  return claimed;
}

void MemoryBroker::drop(const WorkEntry& entry, const std::string& why) {
  call([&] {
    streams_[entry.stream].erase(std::stoll(entry.id));
    if (!why.empty()) ++dead_letters;
  });
}

std::vector<bool> MemoryBroker::present(const std::vector<WorkEntry>& entries) {
  std::vector<bool> all;
  call([&] {
    for (const WorkEntry& each : entries)
      all.push_back(streams_[each.stream].contains(std::stoll(each.id)));
  });
  return all;
}

void MemoryBroker::join(const Member& member) {
  call([&] {
    members_[member.id] = member;
    members_[member.id].seen_ms = now;
  });
}

void MemoryBroker::leave(const std::string& member) {
  call([&] { members_.erase(member); });
}

Broker::Standing MemoryBroker::beat(const WorkLease& lease, const RunNews& news) {
  Standing standing = Standing::lost;
  call([&] {
    auto it = jobs_.find(lease.job);
    if (it == jobs_.end()) return;
    SharedJob& shared = it->second;
    if (shared.job.state != JobState::running || shared.job.attempts != lease.attempt ||
        shared.worker != lease.worker)
      return;
    shared.progress = news.progress;
    auto client = shares_.find(news.client);
    if (client != shares_.end()) client->second += news.computed_ms;
    auto entry = streams_[shared.stream].find(std::stoll(shared.entry));
    if (entry != streams_[shared.stream].end() && !entry->second.owner.empty()) {
      entry->second.owner = lease.worker;
      entry->second.beaten = now;
    }
    standing = shared.job.cancelling ? Standing::cancelling : Standing::held;
  });
  return standing;
}

void MemoryBroker::learn(const std::string& work, int64_t steps, double steps_ms, double other_ms) {
  call([&] {
    if (steps > 0) times_.learn_step(work, steps_ms / static_cast<double>(steps));
    times_.learn_other(work, other_ms);
  });
}

void MemoryBroker::put_files(const std::string& job, int64_t attempt, const FileBytes& files) {
  call([&] { files_[{job, attempt}] = files; });
}

FileBytes MemoryBroker::files(const std::string& job, int64_t attempt) {
  FileBytes found;
  call([&] { found = files_[{job, attempt}]; });
  return found;
}

std::optional<std::string> MemoryBroker::file(const std::string& job, int64_t attempt,
                                              const std::string& name) {
  const FileBytes all = files(job, attempt);
  auto it = all.find(name);
  if (it == all.end()) return std::nullopt;
  return it->second;
}

void MemoryBroker::add_entry(const std::string& stream, const std::string& job) {
  streams_[stream][next_entry_++] = {job};
}

void MemoryBroker::lose_entry(const std::string& stream) {
  if (!streams_[stream].empty()) streams_[stream].erase(streams_[stream].begin());
}

void MemoryBroker::deliver_again(const std::string& stream) {
  for (auto& [id, entry] : streams_[stream]) entry.owner.clear();
}

}  // namespace omnirt::serve
