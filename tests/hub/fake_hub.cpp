#include "hub/fake_hub.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <stdexcept>

#include "base/json.hpp"

namespace omnirt::testing {
namespace {

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// Up to the empty line; "" once the peer has left.
std::string read_head(int socket) {
  std::string head;
  char c = 0;
  while (!head.ends_with("\r\n\r\n")) {
    if (recv(socket, &c, 1, 0) <= 0) return "";
    head += c;
  }
  return head;
}

FakeHub::Asked parsed(const std::string& head) {
  std::istringstream lines(head);
  std::string method, line;
  FakeHub::Asked asked;
  lines >> method >> asked.path;
  std::getline(lines, line);
  while (std::getline(lines, line) && line != "\r") {
    size_t colon = line.find(": ");
    if (colon != line.npos)
      asked.headers[lower(line.substr(0, colon))] = line.substr(colon + 2, line.size() - colon - 3);
  }
  return asked;
}

// "bytes=5-" is 5.
size_t range_of(const FakeHub::Asked& asked) {
  std::string range = asked.header("range");
  return range.starts_with("bytes=") ? std::stoul(range.substr(6)) : 0;
}

}  // namespace

std::string FakeHub::Asked::header(const std::string& name) const {
  auto it = headers.find(name);
  return it == headers.end() ? "" : it->second;
}

std::string FakeHub::digest(const File& file) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned count = 0;
  std::string hashed = file.bytes;
  if (!file.large)
    hashed = fmt::format("blob {}", file.bytes.size()) + std::string(1, '\0') + file.bytes;
  EVP_Digest(hashed.data(), hashed.size(), bytes.data(), &count,
             file.large ? EVP_sha256() : EVP_sha1(), nullptr);
  std::string text;
  for (unsigned i = 0; i < count; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

FakeHub::FakeHub() {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  constexpr int backlog = 64;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener_, backlog) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("no port for a hub");
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept(); });
}

FakeHub::~FakeHub() {
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  close(listener_);
  for (std::thread& thread : threads_) thread.join();
}

std::string FakeHub::endpoint() const {
  return fmt::format("http://127.0.0.1:{}", port_);
}

std::vector<FakeHub::Asked> FakeHub::asked() const {
  const std::scoped_lock lock(mutex_);
  return asked_;
}

void FakeHub::accept() {
  for (;;) {
    int connection = ::accept(listener_, nullptr, nullptr);
    if (connection < 0) return;
    threads_.emplace_back([this, connection] { serve(connection); });
  }
}

// One request a connection.
void FakeHub::serve(int socket) {
  const std::string head = read_head(socket);
  if (!head.empty()) {
    const Asked asked = parsed(head);
    Reply reply = reply_to(asked);
    fault(asked, reply);
    {
      const std::scoped_lock lock(mutex_);
      asked_.push_back(asked);
    }
    reply.headers.try_emplace("Content-Length", fmt::to_string(reply.body.size()));
    std::string text = fmt::format("HTTP/1.1 {} X\r\nConnection: close\r\n", reply.status);
    for (const auto& [name, value] : reply.headers) text += fmt::format("{}: {}\r\n", name, value);
    const std::string body = reply.body.substr(0, reply.cut_after);
    sent_ += body.size();
    text += "\r\n" + body;
    size_t done = 0;
    while (done < text.size()) {
      ssize_t put = send(socket, text.data() + done, text.size() - done, MSG_NOSIGNAL);
      if (put <= 0) break;
      done += static_cast<size_t>(put);
    }
  }
  shutdown(socket, SHUT_RDWR);
  close(socket);
}

std::string FakeHub::listing() const {
  Json siblings = Json::array();
  for (const auto& [path, file] : files) {
    Json entry = {{"rfilename", path}, {"size", file.bytes.size()}};
    entry["blobId"] = file.large ? std::string(40, 'b') : digest(file);
    if (file.large) entry["lfs"] = {{"sha256", digest(file)}, {"size", file.bytes.size()}};
    siblings.push_back(entry);
  }
  return Json{{"id", "someone/dream"}, {"sha", commit}, {"siblings", siblings}}.dump();
}

FakeHub::Reply FakeHub::reply_to(const Asked& asked) const {
  const std::string api = "/api/models/someone/dream/revision/",
                    resolve = fmt::format("/someone/dream/resolve/{}/", commit);
  if (asked.path.starts_with(api)) {
    const std::string revision = asked.path.substr(api.size());
    if (revision == "main?blobs=true" || revision == "refs%2Fpr%2F1?blobs=true")
      return {200, {}, listing()};
    return {404, {{"X-Error-Code", "RevisionNotFound"}}, ""};
  }
  if (!asked.path.starts_with(resolve)) return {401, {{"X-Error-Code", "RepoNotFound"}}, ""};
  auto file = files.find(asked.path.substr(resolve.size()));
  if (file == files.end()) return {404, {{"X-Error-Code", "EntryNotFound"}}, ""};
  const std::string& bytes = file->second.bytes;
  size_t from = range_of(asked);
  if (asked.header("range").empty()) return {200, {}, bytes};
  if (from >= bytes.size()) return {416, {}, ""};
  return {206,
          {{"Content-Range", fmt::format("bytes {}-{}/{}", from, bytes.size() - 1, bytes.size())}},
          bytes.substr(from)};
}

}  // namespace omnirt::testing
