#pragma once
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace omnirt::serve {

// What each client of stable-diffusion-webui's routes chose, and its jobs that have not ended: its
// progress and interrupt name none. Safe to use from several threads.
class WebuiClients {
 public:
  // "" where the client chose none.
  std::string model(const std::string& client) const;
  void choose(const std::string& client, const std::string& model);
  void begin(const std::string& client, const std::string& job);
  void end(const std::string& client, const std::string& job);
  // The oldest first.
  std::vector<std::string> jobs(const std::string& client) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> models_;
  std::map<std::string, std::vector<std::string>> jobs_;
};

}  // namespace omnirt::serve
