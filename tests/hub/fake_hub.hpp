#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace omnirt::testing {

// A hub on a port of 127.0.0.1, with the part of its interface that downloads use, and faults.
class FakeHub {
 public:
  struct File {
    std::string bytes;
    bool large = false;
  };
  // What a request is answered with. A fault may change it before it is sent.
  struct Reply {
    int status = 200;
    std::map<std::string, std::string> headers;
    std::string body;
    size_t cut_after = std::string::npos;  // bytes of the body, then the connection is closed
  };
  struct Asked {
    std::string path;
    std::map<std::string, std::string> headers;
    std::string header(const std::string& name) const;
  };
  using Fault = std::function<void(const Asked&, Reply&)>;

  static constexpr const char* commit = "0123456789abcdef0123456789abcdef01234567";

  FakeHub();
  ~FakeHub();
  FakeHub(const FakeHub&) = delete;
  FakeHub& operator=(const FakeHub&) = delete;

  // "http://127.0.0.1:PORT"
  std::string endpoint() const;
  std::map<std::string, File> files;  // of the one repository, "someone/dream"; set before requests
  Fault fault = [](const Asked&, Reply&) {};
  std::vector<Asked> asked() const;
  size_t bytes_sent() const { return sent_; }
  // The name that the hub gives to a file's content.
  static std::string digest(const File& file);

 private:
  void accept();
  void serve(int socket);
  Reply reply_to(const Asked& asked) const;
  std::string listing() const;

  int listener_ = -1;
  int port_ = 0;
  std::atomic<size_t> sent_{0};
  mutable std::mutex mutex_;
  std::vector<Asked> asked_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace omnirt::testing
