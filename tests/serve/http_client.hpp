#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"

namespace omnirt::serve {

// A client that writes bytes to a socket of this machine, and reads the answer.
class HttpClient {
 public:
  // `from`: the address of this machine that it connects from.
  explicit HttpClient(uint16_t port, const std::string& from = "");
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  struct Answer {
    int status = 0;
    std::string headers;
    std::string body;
    Json json() const;
  };
  void send(const std::string& bytes) const;
  // The next answer, of its Content-Length; a status of 0 where the server closed first.
  Answer read();
  // Up to the end of the connection.
  std::string read_all();
  // Until the text was read; what came so far.
  std::string read_until(const std::string& text);
  void close();
  // Sends nothing more, and still reads.
  void end_sending() const;
  uint16_t server_port() const { return port_; }

  Answer get(const std::string& path, const std::string& headers = "");
  Answer post(const std::string& path, const std::string& body,
              const std::string& headers = "Content-Type: application/json\r\n");
  Answer request(const std::string& method, const std::string& path, const std::string& headers,
                 const std::string& body);

 private:
  bool fill();
  uint16_t port_;
  int fd_ = -1;
  std::string buffer_;
};

// Named bytes as a form, and the header that says so.
std::string form_of(const std::vector<std::pair<std::string, std::string>>& parts);
inline constexpr const char* form_type = "Content-Type: multipart/form-data; boundary=xx\r\n";

}  // namespace omnirt::serve
