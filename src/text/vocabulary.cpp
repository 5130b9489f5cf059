#include "text/vocabulary.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace omnirt::text {

void Vocabulary::add(std::string token, int64_t id, const std::string& where) {
  if (id < 0 || id >= max_vocabulary) {
    throw InvalidFile({where, fmt::format("\"{}\": {}", token, id),
                       fmt::format("the id is not in 0 to {}", max_vocabulary - 1), ""});
  }
  if (const std::string* other = this->token(id)) {
    throw InvalidFile({where, fmt::format("\"{}\": {}", token, id),
                       fmt::format("the id is taken by \"{}\"", *other), "give each its own"});
  }
  auto [entry, added] = ids_.try_emplace(std::move(token), static_cast<int32_t>(id));
  if (!added) {
    throw InvalidFile({where, fmt::format("\"{}\": {}", entry->first, id),
                       fmt::format("the token is there already, with id {}", entry->second),
                       "keep one of them"});
  }
  if (static_cast<size_t>(id) >= tokens_.size()) tokens_.resize(static_cast<size_t>(id) + 1);
  tokens_[static_cast<size_t>(id)] = &entry->first;
}

int32_t Vocabulary::find(std::string_view token) const {
  auto entry = ids_.find(token);
  return entry == ids_.end() ? -1 : entry->second;
}

const std::string* Vocabulary::token(int64_t id) const {
  return id < 0 || id >= rows() ? nullptr : tokens_[static_cast<size_t>(id)];
}

}  // namespace omnirt::text
