#pragma once
#include <memory>
#include <string>
#include <vector>

#include "engine/session.hpp"
#include "serve/api.hpp"
#include "serve/broker/redis_url.hpp"
#include "serve/dispatcher.hpp"

namespace omnirt::serve {

struct ServerOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 8000;
  std::vector<std::string> models{};  // "ID", "NAME=ID" or "NAME=FOLDER"; none: all that are here
  std::vector<std::string> lora_folders{};
  std::string state{};              // folder of jobs and their files; "": none beyond the process
  std::optional<RedisUrl> redis{};  // where workers take the jobs from; none: they run here
  int64_t lease_ms = 3000;          // silent for longer, a process at Redis is dead
  std::string key_file{};           // "": no keys
  std::string otlp_endpoint{};      // of a collector of traces (serve/trace_exporter); "": none
  std::vector<std::string> devices{};  // of one backend, that run jobs; empty: as requests say
  DispatcherLimits jobs{};
  HttpLimits http{};
  ApiLimits api{};
  AdapterLimits adapters{};  // that are sent
};

// `omnirt serve`: a session behind HTTP, with its jobs. Ends by `drain` and `stop`.
class Server {
 public:
  // Listens, and takes up the jobs that the state holds. Throws InvalidRequest where an option
  // cannot be: an address that is not this machine's own without keys, a model that is not known,
  // ...
  Server(Session& session, const ServerOptions& options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  uint16_t port() const;
  std::vector<std::string> models() const;
  void start();
  // Begins nothing more. True: what had begun is over within `ms`.
  bool drain(int64_t ms);
  // What runs is queued again, for the next start.
  void hand_back();
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace omnirt::serve
