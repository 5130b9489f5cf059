#pragma once
#include <optional>
#include <string>
#include <vector>

#include "serve/broker/shared_job.hpp"

namespace omnirt::serve {

// The texts of both errors are shown to clients and hold no address.
//
// The broker cannot be reached, has not answered in time, or takes no commands for now (it is out
// of memory or has become a replica, say). The call may or may not have taken effect.
class BrokerLost : public Error {
 public:
  explicit BrokerLost(const std::string& what) : Error("BrokerLost", what, 3) {}
};

// The broker refused a command, and will refuse it again: a key holds what this program does not
// write there, say.
class BrokerRefused : public Error {
 public:
  BrokerRefused(std::string code, const std::string& what)
      : Error("BrokerRefused", what, 3), code_(std::move(code)) {}
  const std::string& code() const { return code_; }  // "WRONGTYPE"

 private:
  std::string code_;
};

// Where jobs are that several servers and workers share. Each call takes effect wholly or not at
// all, for all who use the broker; and what has returned stays. Any call may throw BrokerLost, with
// its effect or without, or BrokerRefused. Records that this program would not write are dead
// letters: calls skip them. Nothing here decides: what a job becomes is SharedQueue's.
class Broker {
 public:
  virtual ~Broker() = default;
  virtual int64_t now_ms() = 0;
  virtual Snapshot snapshot() = 0;
  // A job, ended or not; its request where it is asked for.
  virtual std::optional<SharedJob> find(const std::string& id, bool with_request) = 0;
  // Of one client, or ("") of all, the newest first.
  virtual std::vector<SharedJob> list(const std::string& client, size_t most) = 0;

  // What else a change of a job does.
  enum class Move {
    stay,      // the entry that stands for it stays, if there is one
    take_out,  // its entry is acknowledged and removed
    put_in,    // the same, and a new entry stands for it in the stream of its model and part
  };
  // The job as it is to be, if it still has the version that it says (0: it is new). True: it has
  // (or had, where this very change came through before an answer was lost); version and entry are
  // then the new ones. The job's state is told as an event, a dead one's as a dead letter.
  virtual bool commit(SharedJob& job, Move move) = 0;
  // An ended job is forgotten, with its files.
  virtual void remove(const std::string& job) = 0;

  // The next entry of the streams of a worker's models and parts; waits for one for at most
  // `wait_ms`.
  virtual std::optional<WorkEntry> next(const Member& worker, int64_t wait_ms) = 0;
  // Entries that a worker was given and that still are its own: of a call whose answer was lost.
  virtual std::vector<WorkEntry> pending(const Member& worker) = 0;
  // Takes over entries whose owner has not beaten for `idle_ms`.
  virtual std::vector<WorkEntry> claim(const Member& by, int64_t idle_ms) = 0;
  // Acknowledges and removes an entry that stands for no job; `why` ("": nothing) as a dead letter.
  virtual void drop(const WorkEntry& entry, const std::string& why) = 0;
  // Whether these entries are in their streams.
  virtual std::vector<bool> present(const std::vector<WorkEntry>& entries) = 0;

  // The process lives, and is as it says.
  virtual void join(const Member& member) = 0;
  virtual void leave(const std::string& member) = 0;
  enum class Standing { held, cancelling, lost };
  // The run lives: its entry is its worker's own again, and what happened is told.
  virtual Standing beat(const WorkLease& lease, const RunNews& news) = 0;
  // A whole run took this: the means over all runs take it in.
  virtual void learn(const std::string& work, int64_t steps, double steps_ms, double other_ms) = 0;

  // Files of an attempt; those of attempt 0 were sent with the request. They last with the change
  // of the job that names them; those that none names are gone after an hour.
  virtual void put_files(const std::string& job, int64_t attempt, const FileBytes& files) = 0;
  // Throws InvalidFile for more than a job may have, or for names that are not file names.
  virtual FileBytes files(const std::string& job, int64_t attempt) = 0;
  virtual std::optional<std::string> file(const std::string& job, int64_t attempt,
                                          const std::string& name) = 0;
};

}  // namespace omnirt::serve
