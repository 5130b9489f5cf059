#pragma once
#include <list>
#include <memory>
#include <mutex>
#include <string>

namespace omnirt {
class ValidatedRequest;  // request/validated_request.hpp
}

namespace omnirt::serve {

// What was found out about the requests of jobs that wait to run in this process, so that their
// runs need not validate them again. Safe to use from several threads.
class ValidatedJobs {
 public:
  static constexpr size_t most_kept = 64;  // the newest
  void keep(const std::string& job, std::shared_ptr<const ValidatedRequest> validated);
  // Null where nothing is kept; the job's is gone afterwards.
  std::shared_ptr<const ValidatedRequest> take(const std::string& job);

 private:
  std::mutex mutex_;
  std::list<std::pair<std::string, std::shared_ptr<const ValidatedRequest>>> kept_;  // oldest first
};

}  // namespace omnirt::serve
