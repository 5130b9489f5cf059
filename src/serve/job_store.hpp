#pragma once
#include <string>
#include <vector>

#include "serve/job.hpp"

namespace omnirt::serve {

// Where jobs are kept beyond the process. Each call takes effect wholly or not at all, and what has
// returned stays. Any call may throw (RunFailed: a full disk, say); then it may have taken effect
// or not, as a process that ends in it would leave it.
class JobStore {
 public:
  virtual ~JobStore() = default;
  // All jobs, by number; results may be left out.
  virtual std::vector<Job> load() = 0;
  // A job whose id is new.
  virtual void insert(const Job& job) = 0;
  // All but what never changes (id, number, client, model, work, request, waited_for).
  virtual void update(const Job& job) = 0;
  virtual void remove(const std::string& id) = 0;
  // Of a job that is done. It is asked of the store each time: ended jobs are many, and the memory
  // of a server is not to grow with them.
  virtual std::string result(const std::string& id) = 0;
};

}  // namespace omnirt::serve
