#include "serve/client_shares.hpp"

#include <algorithm>

namespace omnirt::serve {

void ClientShares::enter(const std::string& client) {
  auto it = shares_.find(client);
  if (it == shares_.end()) {
    double least = 0;
    if (!shares_.empty()) {
      least = std::min_element(shares_.begin(), shares_.end(), [](const auto& a, const auto& b) {
                return a.second.had < b.second.had;
              })->second.had;
    }
    it = shares_.emplace(client, Share{least, 0}).first;
  }
  ++it->second.jobs;
}

void ClientShares::leave(const std::string& client) {
  auto it = shares_.find(client);
  if (it != shares_.end() && --it->second.jobs == 0) shares_.erase(it);
}

void ClientShares::charge(const std::string& client, double ms) {
  auto it = shares_.find(client);
  if (it != shares_.end()) it->second.had += ms;
}

double ClientShares::had(const std::string& client) const {
  auto it = shares_.find(client);
  return it == shares_.end() ? 0 : it->second.had;
}

size_t ClientShares::jobs(const std::string& client) const {
  auto it = shares_.find(client);
  return it == shares_.end() ? 0 : it->second.jobs;
}

}  // namespace omnirt::serve
