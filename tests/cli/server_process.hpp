#pragma once
#include <cstdint>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "base/json.hpp"
#include "cli/program.hpp"

namespace omnirt::testing {

// `omnirt serve` as a process, on a port of its own, until it is ended.
class ServerProcess {
 public:
  // `variables` ("NAME=VALUE") are set for it. Waits until it listens.
  explicit ServerProcess(const std::vector<std::string>& flags,
                         const std::vector<std::string>& variables = {});
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  uint16_t port() const { return port_; }
  // Sends it a signal, if any, and waits for its end.
  const Ended& end(int signal = 0);

 private:
  std::promise<uint16_t> listening_;
  std::promise<int> started_;
  uint16_t port_ = 0;
  int child_ = 0;
  Ended ended_;
  std::thread thread_;
};

}  // namespace omnirt::testing
