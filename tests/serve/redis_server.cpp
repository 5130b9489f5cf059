#include "serve/redis_server.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "base/error.hpp"
#include "serve/broker/redis_connection.hpp"

namespace omnirt::serve {
namespace {

constexpr const char* program = "/usr/bin/redis-server";

uint16_t free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(fd, reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(fd);
  return ntohs(address.sin_port);
}

}  // namespace

bool RedisServer::installed() {
  return ::access(program, X_OK) == 0;
}

RedisServer::RedisServer(std::string password)
    : password_(std::move(password)), port_(free_port()) {
  ::signal(SIGPIPE, SIG_IGN);
  start();
}

RedisServer::~RedisServer() {
  kill();
}

RedisUrl RedisServer::url() const {
  return {.host = "127.0.0.1", .port = port_, .password = password_};
}

std::string RedisServer::address() const {
  return "redis://127.0.0.1:" + std::to_string(port_);
}

void RedisServer::start() {
  std::vector<std::string> words{program,
                                 "--port",
                                 std::to_string(port_),
                                 "--bind",
                                 "127.0.0.1",
                                 "--dir",
                                 folder_.path().string(),
                                 "--appendonly",
                                 "yes",
                                 "--appendfsync",
                                 "always",
                                 "--save",
                                 ""};
  if (!password_.empty()) words.insert(words.end(), {"--requirepass", password_});
  std::vector<char*> argv;
  for (std::string& each : words) argv.push_back(each.data());
  argv.push_back(nullptr);
  process_ = ::fork();
  if (process_ == 0) {
    const int nowhere = ::open("/dev/null", O_RDWR);
    ::dup2(nowhere, 1);
    ::dup2(nowhere, 2);
    ::execv(program, argv.data());
    ::_exit(127);
  }
  RedisConnection asked(url(), 60'000);
  asked.call({"PING"});
}

void RedisServer::kill() {
  if (process_ <= 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
  process_ = -1;
}

}  // namespace omnirt::serve
