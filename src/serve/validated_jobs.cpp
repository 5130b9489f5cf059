#include "serve/validated_jobs.hpp"

#include <algorithm>

namespace omnirt::serve {

void ValidatedJobs::keep(const std::string& job,
                         std::shared_ptr<const ValidatedRequest> validated) {
  if (!validated) return;
  std::scoped_lock lock(mutex_);
  kept_.emplace_back(job, std::move(validated));
  if (kept_.size() > most_kept) kept_.pop_front();
}

std::shared_ptr<const ValidatedRequest> ValidatedJobs::take(const std::string& job) {
  std::scoped_lock lock(mutex_);
  const auto found =
      std::find_if(kept_.begin(), kept_.end(), [&](const auto& each) { return each.first == job; });
  if (found == kept_.end()) return nullptr;
  auto validated = std::move(found->second);
  kept_.erase(found);
  return validated;
}

}  // namespace omnirt::serve
