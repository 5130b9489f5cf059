#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/file.hpp"
#include "serve/trace.hpp"

namespace omnirt::serve {

// A body that is kept in a file and not in memory. The file is removed with it.
struct BodyFile {
  BodyFile(std::filesystem::path where, std::function<void()> on_gone)
      : path(std::move(where)), gone(std::move(on_gone)) {}
  ~BodyFile();
  BodyFile(const BodyFile&) = delete;
  BodyFile& operator=(const BodyFile&) = delete;
  std::filesystem::path path;
  std::function<void()> gone;
};

struct HttpRequest {
  std::string method;  // "GET"
  std::string path;    // "/v1/jobs": no query, no slash at the end, one at the start
  std::map<std::string, std::string> query;
  std::map<std::string, std::string> headers;  // names in small letters; of several the last
  std::string body;
  std::shared_ptr<const BodyFile> file;  // of a body that is not in `body`
  std::string peer;                      // address
  std::string id;                        // of the request, in the log and the answer
  TraceContext trace;  // of who asked, or a new one; what the request does is in `span`
  std::string span;
  bool upgrade = false;  // asks for a WebSocket

  // "" where there is none.
  const std::string& header(const std::string& name) const;
};

// Part of an open file that is sent as a body. It is read as the client takes it, so that a slow
// client costs a descriptor and not a copy.
struct FilePart {
  std::shared_ptr<const io::OpenFile> file{};  // null: there is none
  uint64_t from = 0, bytes = 0;
};

struct HttpResponse {
  int status = 200;
  std::string type = "application/json";
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};
  FilePart file{};  // in place of `body`
};

// An open WebSocket of text messages. Safe to use from any thread; what is sent after its end goes
// nowhere.
class HttpSocket {
 public:
  virtual ~HttpSocket() = default;
  // One message, in the order of the calls.
  virtual void send(std::string text) = 0;
  // The same; left out where the client is behind with taking what it was sent.
  virtual void offer(std::string text) = 0;
  // One that is busy is not closed for silence.
  virtual void set_busy(bool busy) = 0;
};

// What a WebSocket asks of the program, on a worker's thread. Must not throw.
struct SocketProgram {
  // One at a time: the next is read when it has returned.
  std::function<void(std::string)> message;
  // Once, after the last message; not where the server ends.
  std::function<void()> closed;
};
using SocketOpened = std::function<SocketProgram(std::shared_ptr<HttpSocket>)>;

// One request and its answer. Safe to use from any thread, also after the client has left: what is
// sent then goes nowhere.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;
  virtual const HttpRequest& request() const = 0;
  // The whole answer, once.
  virtual void respond(HttpResponse response) = 0;
  // An answer that comes in pieces (server-sent events), and ends the connection.
  virtual void begin_events(HttpResponse head) = 0;
  virtual void send(std::string piece) = 0;
  virtual void end() = 0;
  // Answers a request with `upgrade`: the connection is a WebSocket from there on. `opened` is
  // quick; `protocol` is one that the client named (Sec-WebSocket-Protocol), or "".
  virtual void open_socket(std::string protocol, SocketOpened opened) = 0;
  // Called once if the client leaves before the answer is whole; at once where it has.
  virtual void on_closed(std::function<void()> closed) = 0;
};

struct HttpLimits {
  size_t header_bytes = 16 << 10;
  size_t body_bytes = size_t{32} << 20;
  size_t all_bodies_bytes = size_t{256} << 20;   // of all connections together
  size_t all_answers_bytes = size_t{256} << 20;  // in memory until clients take them
  size_t connections = 128;
  size_t connections_per_peer = 96;         // an IPv4 address, or a /64 of IPv6
  size_t message_bytes = size_t{32} << 20;  // of a WebSocket
  size_t unsent_bytes = size_t{16} << 20;   // of events that a slow client has not taken
  int header_seconds = 10;
  int body_seconds = 60;
  uint64_t least_body_bytes_per_second = 256 << 10;  // of a body that goes to a file
  int write_seconds = 30;  // for a client to take 64 KB of an answer, or one event
  int idle_seconds = 60;
  int ping_seconds = 15;  // of events and WebSockets, so that a client that is gone is seen
  size_t workers = 4;     // threads that handle requests
};

// What the server asks of the program.
struct HttpProgram {
  // With the headers alone, before the body is read: an answer that refuses, or nothing. Quick.
  std::function<std::optional<HttpResponse>(const HttpRequest&)> admit;
  // Where the body of an admitted request goes, if not into memory; its size is then what this
  // allows. Quick.
  struct BodyPlace {
    std::shared_ptr<const BodyFile> file{};
    std::optional<HttpResponse> refused{};
  };
  std::function<BodyPlace(const HttpRequest&, uint64_t bytes)> place_body{};
  // On a worker's thread. Must not throw.
  std::function<void(std::shared_ptr<HttpExchange>)> handle;
  // After each answer, or where the client left (status 499).
  std::function<void(const HttpRequest&, int status, size_t bytes, double ms)> log;
  // An answer of the server's own to a request that breaks a limit; of one that could not be read
  // nothing but its id is known.
  std::function<HttpResponse(const HttpRequest&, int status, const std::string& detail)> refuse;
};

// HTTP/1.1 over TCP. One thread reads and writes, workers handle requests.
class HttpServer {
 public:
  // Listens; port 0 is any that is free. Throws InvalidRequest where it cannot.
  HttpServer(const std::string& host, uint16_t port, const HttpLimits& limits, HttpProgram program);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  uint16_t port() const;
  void start();
  // Has a worker do it.
  void later(std::function<void()> work);
  // Closes all connections and waits for the workers.
  void stop();
  size_t connections() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A host and its port, as a Host header or an origin has them.
struct Authority {
  std::string host;  // in small letters; an IPv6 address without its brackets
  int port = 0;      // 0: none is given
  bool operator==(const Authority&) const = default;
};
// "example.org:8000", "[::1]"; nothing for any other text.
std::optional<Authority> parse_authority(std::string_view text);

// Who a page belongs to: "https://example.org". The scheme's usual port counts as none.
struct WebOrigin {
  std::string scheme;  // in small letters
  Authority authority;
  bool operator==(const WebOrigin&) const = default;
  std::string text() const;
};
// Nothing for "null", "*", a path or any other text that no browser sends as a page's origin.
std::optional<WebOrigin> parse_origin(std::string_view text);

// Whether a host is this machine's own: "localhost", ::1, or an address of 127.0.0.0/8. Other names
// are not, whatever they resolve to.
bool is_loopback(const std::string& host);
// The address that a server listens at where it is told `host`: IPv6 without brackets, and
// 127.0.0.1 for "localhost".
std::string address_of_host(const std::string& host);
// Whether a text may be the value of a header: no control characters, so that it cannot end the
// line.
bool is_header_value(std::string_view text);
std::string url_decoded(std::string_view text);
std::map<std::string, std::string> query_of(std::string_view text);
// 128 random bits in hexadecimal digits.
std::string random_id();

}  // namespace omnirt::serve
