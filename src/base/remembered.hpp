#pragma once
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace omnirt {

// Answers that take time to work out and hold as long as their key does. At most `most`: when one
// more comes, all others are forgotten. Safe to use from several threads.
template <class Answer>
class Remembered {
 public:
  explicit Remembered(size_t most) : most_(most) {}

  std::optional<Answer> find(const std::string& key) const {
    std::scoped_lock lock(mutex_);
    auto it = answers_.find(key);
    return it == answers_.end() ? std::nullopt : std::optional(it->second);
  }
  void keep(const std::string& key, Answer answer) {
    std::scoped_lock lock(mutex_);
    if (answers_.size() >= most_) answers_.clear();
    answers_.insert_or_assign(key, std::move(answer));
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Answer> answers_;
  const size_t most_;
};

}  // namespace omnirt
