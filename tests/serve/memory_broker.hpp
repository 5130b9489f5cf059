#pragma once
#include <functional>
#include <map>
#include <set>

#include "serve/broker/broker.hpp"

namespace omnirt::serve {

// A broker in memory, with a clock that a test sets and calls that fail when it says so, before or
// after they took effect. docs/design/server.md describes what a broker guarantees.
class MemoryBroker final : public Broker {
 public:
  enum class Fault { none, before, after };
  // Asked at each call.
  std::function<Fault()> fault = [] { return Fault::none; };
  // Each change of a job, as it takes effect; null before the first.
  std::function<void(const SharedJob* before, const SharedJob& after)> on_commit;
  int64_t now = 1'700'000'000'000;
  int64_t started = 0;

  int64_t now_ms() override;
  Snapshot snapshot() override;
  std::optional<SharedJob> find(const std::string& id, bool with_request) override;
  std::vector<SharedJob> list(const std::string& client, size_t most) override;
  bool commit(SharedJob& job, Move move) override;
  void remove(const std::string& job) override;
  std::optional<WorkEntry> next(const Member& worker, int64_t wait_ms) override;
  std::vector<WorkEntry> pending(const Member& worker) override;
  std::vector<WorkEntry> claim(const Member& by, int64_t idle_ms) override;
  void drop(const WorkEntry& entry, const std::string& why) override;
  std::vector<bool> present(const std::vector<WorkEntry>& entries) override;
  void join(const Member& member) override;
  void leave(const std::string& member) override;
  Standing beat(const WorkLease& lease, const RunNews& news) override;
  void learn(const std::string& work, int64_t steps, double steps_ms, double other_ms) override;
  void put_files(const std::string& job, int64_t attempt, const FileBytes& files) override;
  FileBytes files(const std::string& job, int64_t attempt) override;
  std::optional<std::string> file(const std::string& job, int64_t attempt,
                                  const std::string& name) override;

  // What the world does to it.
  void add_entry(const std::string& stream, const std::string& job);
  void lose_entry(const std::string& stream);
  void deliver_again(const std::string& stream);
  const std::map<std::string, SharedJob>& jobs() const { return jobs_; }
  const std::set<std::string>& line() const { return line_; }
  int64_t dead_letters = 0;
  static std::string stream_of(WorkPart part, const std::string& model);

 private:
  struct Entry {
    std::string job;
    std::string owner{};  // "": not given out
    int64_t beaten = 0;
  };
  using Stream = std::map<int64_t, Entry>;
  void call(const std::function<void()>& work);
  void take_out(SharedJob& job);

  std::map<std::string, SharedJob> jobs_;
  std::set<std::string> line_;
  std::set<std::pair<int64_t, std::string>> ended_;
  std::map<std::string, Stream> streams_;
  std::map<std::string, Member> members_;
  std::map<std::string, double> shares_;
  std::map<std::string, int64_t> clients_;
  std::map<std::pair<std::string, int64_t>, FileBytes> files_;
  StepTimes times_;
  int64_t next_entry_ = 1;
  int64_t ended_bytes_ = 0;
};

}  // namespace omnirt::serve
