#pragma once
#include <filesystem>

#include "serve/job_store.hpp"

namespace omnirt::serve {

// What a process keeps of jobs that end with it: the results alone, a file for each in a folder of
// its own, which goes with the process. Nothing waits for the disk.
class TemporaryJobStore final : public JobStore {
 public:
  // Makes the folder.
  explicit TemporaryJobStore(std::filesystem::path folder);
  std::vector<Job> load() override { return {}; }
  void insert(const Job&) override {}
  void update(const Job& job) override;
  void remove(const std::string& id) override;
  std::string result(const std::string& id) override;

 private:
  std::filesystem::path folder_;
};

}  // namespace omnirt::serve
