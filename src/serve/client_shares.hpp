#pragma once
#include <cstdint>
#include <map>
#include <string>

namespace omnirt::serve {

// How much computing each client has had, among those that have jobs now. A client that comes (or
// comes again) starts level with the one that has had least, so that nothing is saved up by
// waiting.
class ClientShares {
 public:
  // A job of the client was accepted, and ended.
  void enter(const std::string& client);
  void leave(const std::string& client);
  void charge(const std::string& client, double ms);
  // Milliseconds that it has had; 0 of one without jobs.
  double had(const std::string& client) const;
  // How many jobs of it there are.
  size_t jobs(const std::string& client) const;

 private:
  struct Share {
    double had = 0;
    size_t jobs = 0;
  };
  std::map<std::string, Share> shares_;
};

}  // namespace omnirt::serve
