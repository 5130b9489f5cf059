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
  std::string path;    // "/v1/jobs", without the query
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

struct HttpResponse {
  int status = 200;
  std::string type = "application/json";
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};
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
  size_t all_bodies_bytes = size_t{256} << 20;  // of all connections together
  size_t connections = 128;
  size_t message_bytes = size_t{32} << 20;  // of a WebSocket
  size_t unsent_bytes = size_t{16} << 20;   // of events that a slow client has not taken
  int header_seconds = 10;
  int body_seconds = 60;
  uint64_t least_body_bytes_per_second = 256 << 10;  // of a body that goes to a file
  int write_seconds = 30;
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

// Whether an address is this machine's own; names are not looked up, but "localhost".
bool is_loopback(const std::string& host);
std::string url_decoded(std::string_view text);
std::map<std::string, std::string> query_of(std::string_view text);
// 128 random bits in hexadecimal digits.
std::string random_id();

}  // namespace omnirt::serve
