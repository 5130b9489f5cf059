#pragma once
#include <mutex>

#include "serve/broker/broker.hpp"
#include "serve/broker/redis_connection.hpp"

namespace omnirt::serve {

// A broker in Redis (6.2 or later), over one connection: work in streams with a consumer group,
// jobs in hashes, changes in scripts. Safe to use from several threads, which then wait for each
// other; a call that waits for entries or events is better made on one of its own.
class RedisBroker final : public Broker {
 public:
  // `patience_ms`: as RedisConnection.
  RedisBroker(RedisUrl url, int64_t patience_ms);

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

  // Events after the one of this id ("0": all that are kept), which becomes the last one's; waits
  // for one for at most `wait_ms`.
  std::vector<SharedEvent> events(std::string& after, int64_t wait_ms);
  int64_t dead_letters();
  // Throws BrokerLost while Redis takes no writes.
  void try_write();
  // What a user should know of this Redis: that it loses jobs when it ends, or evicts them.
  std::vector<std::string> doubts();
  // Ends a call that waits, and each later one.
  void stop() { connection_.stop(); }
  int64_t connections() const { return connection_.connections(); }

 private:
  RedisReply call(const RedisConnection::Words& words, int64_t wait_ms = 0);
  RedisReply run(const std::string& script, const std::vector<std::string>& arguments);
  void look_at_server();
  bool complete(SharedEvent& event);
  void bury(const std::string& id, const std::string& why);
  void read_line(const RedisReply& line, Snapshot& into);
  void read_members(const RedisReply& members, Snapshot& into);
  int64_t up_since(int64_t now_ms);
  void make_groups(const std::vector<std::string>& streams);
  std::optional<WorkEntry> wait_for(const Member& worker, const std::vector<std::string>& streams,
                                    int64_t wait_ms);

  std::recursive_mutex mutex_;
  RedisConnection connection_;
  int64_t started_ms_ = 0;  // of the server, by its clock
  int64_t back_ms_ = 0;  // when a call first succeeded after one that was lost, by the same clock
  bool was_lost_ = false;
};

}  // namespace omnirt::serve
