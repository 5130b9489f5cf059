#include "serve/webui_clients.hpp"

namespace omnirt::serve {

std::string WebuiClients::model(const std::string& client) const {
  std::scoped_lock lock(mutex_);
  auto it = models_.find(client);
  return it == models_.end() ? "" : it->second;
}

void WebuiClients::choose(const std::string& client, const std::string& model) {
  std::scoped_lock lock(mutex_);
  models_[client] = model;
}

void WebuiClients::begin(const std::string& client, const std::string& job) {
  std::scoped_lock lock(mutex_);
  jobs_[client].push_back(job);
}

void WebuiClients::end(const std::string& client, const std::string& job) {
  std::scoped_lock lock(mutex_);
  auto it = jobs_.find(client);
  if (it == jobs_.end()) return;
  std::erase(it->second, job);
  if (it->second.empty()) jobs_.erase(it);
}

std::vector<std::string> WebuiClients::jobs(const std::string& client) const {
  std::scoped_lock lock(mutex_);
  auto it = jobs_.find(client);
  return it == jobs_.end() ? std::vector<std::string>() : it->second;
}

}  // namespace omnirt::serve
