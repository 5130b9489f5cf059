#include "serve/http_client.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

namespace omnirt::serve {

HttpClient::HttpClient(uint16_t port, const std::string& from)
    : port_(port), fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  if (!from.empty()) {
    address.sin_family = AF_INET;
    ::inet_pton(AF_INET, from.c_str(), &address.sin_addr);
    if (::bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("cannot bind");
  }
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("cannot connect");
}

HttpClient::~HttpClient() {
  close();
}

void HttpClient::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void HttpClient::end_sending() const {
  ::shutdown(fd_, SHUT_WR);
}

void HttpClient::send(const std::string& bytes) const {
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t now = ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (now <= 0) return;  // the server closed: it has answered before
    sent += static_cast<size_t>(now);
  }
}

bool HttpClient::fill() {
  char bytes[65536];
  const ssize_t now = ::recv(fd_, bytes, sizeof bytes, 0);
  if (now > 0) buffer_.append(bytes, static_cast<size_t>(now));
  return now > 0;
}

std::string HttpClient::read_until(const std::string& text) {
  size_t end = 0;
  while ((end = buffer_.find(text)) == std::string::npos) {
    if (!fill()) return std::exchange(buffer_, "");
  }
  std::string read = buffer_.substr(0, end + text.size());
  buffer_.erase(0, end + text.size());
  return read;
}

std::string HttpClient::read_all() {
  while (fill()) {
  }
  return std::exchange(buffer_, "");
}

HttpClient::Answer HttpClient::read() {
  Answer answer;
  answer.headers = read_until("\r\n\r\n");
  if (answer.headers.size() < 12) return answer;
  answer.status = std::stoi(answer.headers.substr(9, 3));
  const size_t at = answer.headers.find("Content-Length: ");
  const size_t length = at == std::string::npos ? 0 : std::stoul(answer.headers.substr(at + 16));
  while (buffer_.size() < length && fill()) {
  }
  answer.body = buffer_.substr(0, length);
  buffer_.erase(0, length);
  return answer;
}

HttpClient::Answer HttpClient::request(const std::string& method, const std::string& path,
                                       const std::string& headers, const std::string& body) {
  std::string text = method + " " + path + " HTTP/1.1\r\n" + headers;
  if (headers.find("Host:") == std::string::npos) text += "Host: localhost\r\n";
  if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  send(text + "\r\n" + body);
  return read();
}

HttpClient::Answer HttpClient::get(const std::string& path, const std::string& headers) {
  return request("GET", path, headers, "");
}

HttpClient::Answer HttpClient::post(const std::string& path, const std::string& body,
                                    const std::string& headers) {
  return request("POST", path, headers, body);
}

Json HttpClient::Answer::json() const {
  return parse_json(body, "the answer");
}

std::string form_of(const std::vector<std::pair<std::string, std::string>>& parts) {
  std::string body;
  for (const auto& [name, bytes] : parts)
    body +=
        "--xx\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + bytes + "\r\n";
  return body + "--xx--\r\n";
}

}  // namespace omnirt::serve
