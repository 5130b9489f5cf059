#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "serve/job_events.hpp"
#include "serve/job_queue.hpp"

namespace omnirt::serve {

// The part of a run that comes next. A worker of several parts runs on from it as far as its parts
// reach without a gap; `whole` is of runs that cannot be cut, and needs a worker of all parts.
enum class WorkPart { encode, denoise, decode, whole };
inline constexpr std::array cut_parts{WorkPart::encode, WorkPart::denoise, WorkPart::decode};

// A job that several servers and workers know of, as a broker keeps it.
struct SharedJob {
  Job job;
  WorkPart part = WorkPart::encode;
  std::string worker;         // that runs it, or ran it last
  std::string waiter;         // the server whose connection waits for it; "": none
  int64_t files_attempt = 0;  // whose files are its state, or its artifacts; 0: what was sent
  JobProgress progress;
  // The entry of the work stream that stands for it; "" where it waits to be put into one.
  std::string entry;
  int64_t put_ms = 0;   // when it was put there
  std::string stream;   // that the entry is in
  int64_t version = 0;  // grows with each change; 0: not stored yet
};

// A process at the broker.
struct Member {
  std::string id{};
  bool works = false;                   // a worker; else a server
  std::set<WorkPart> parts{};           // of runs, that it takes
  std::set<std::string> models{};       // by the names that requests give them
  int64_t lease_ms = 0;                 // silent for longer, it is dead
  bool leaving = false;                 // takes nothing more
  JobOrder order = JobOrder::shortest;  // of a server: which jobs go first
  int64_t seen_ms = 0;                  // by the broker's clock
};

// All that decisions are made from, at one moment.
struct Snapshot {
  int64_t now_us = 0;             // the broker's clock, since 1970
  int64_t up_ms = 0;              // since it was started
  std::vector<SharedJob> line{};  // queued and running, without their requests
  std::vector<Member> members{};
  std::map<std::string, double> shares{};  // of clients that have jobs: computing that they had, ms
  StepTimes times{};
  struct Ended {
    std::string id;
    int64_t ended_ms = 0;
    int64_t bytes = 0;
  };
  size_t ended_count = 0;
  int64_t ended_bytes = 0;
  std::vector<Ended> oldest{};  // of what has ended, a few
  int64_t now_ms() const { return now_us / 1000; }
};

// An entry of a work stream, as it was read: from outside, so that nothing of it is trusted.
struct WorkEntry {
  std::string stream;
  std::string id;
  std::string job;  // "" of a malformed one
};

// The right to run a job once; void once the job's attempt is another.
struct WorkLease {
  std::string job;
  int64_t attempt = 0;
  std::string entry;
  std::string stream;
  std::string worker;
};

// What happened in a run since the last beat.
struct RunNews {
  std::vector<std::pair<std::string, std::string>> events{};  // {type, data}
  std::string client{};
  double computed_ms = 0;
  JobProgress progress{};
};

// One event of any job's, from the broker's stream of them.
struct SharedEvent {
  std::string job;
  JobEvent event;
  bool forgotten = false;  // the job is gone, and so are its files
};

using FileBytes = std::map<std::string, std::string>;  // {name: bytes}

// A job as text, without its request, its result and what the broker counts, and back. Reading
// throws InvalidFile for a text that this program would not write.
std::string shared_job_text(const SharedJob& shared);
SharedJob read_shared_job(const std::string& text);
std::string member_text(const Member& member);
Member read_member(const std::string& text);

}  // namespace omnirt::serve

template <>
struct omnirt::ChoiceNames<omnirt::serve::WorkPart> {
  static constexpr std::array names{"encode", "denoise", "decode", "whole"};
};
