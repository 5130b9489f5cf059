#pragma once
#include <map>

#include "serve/job_store.hpp"

namespace omnirt::serve {

// Keeps jobs in memory, for as long as it lives.
class MemoryJobStore final : public JobStore {
 public:
  std::vector<Job> load() override;
  void insert(const Job& job) override;
  void update(const Job& job) override;
  void remove(const std::string& id) override;
  std::string result(const std::string& id) override { return jobs_.at(id).result; }

 private:
  std::map<std::string, Job> jobs_;
};

}  // namespace omnirt::serve
