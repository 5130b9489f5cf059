#include "serve/memory_store.hpp"

#include <algorithm>

#include "base/ensure.hpp"

namespace omnirt::serve {

std::vector<Job> MemoryJobStore::load() {
  std::vector<Job> all;
  for (const auto& [id, job] : jobs_) all.push_back(job);
  std::sort(all.begin(), all.end(), [](const Job& a, const Job& b) { return a.number < b.number; });
  return all;
}

void MemoryJobStore::insert(const Job& job) {
  const bool is_new = jobs_.emplace(job.id, job).second;
  ensure(is_new, "job {} is stored already", job.id);
}

void MemoryJobStore::update(const Job& job) {
  auto it = jobs_.find(job.id);
  ensure(it != jobs_.end(), "job {} is not stored", job.id);
  it->second = job;
}

void MemoryJobStore::remove(const std::string& id) {
  jobs_.erase(id);
}

}  // namespace omnirt::serve
