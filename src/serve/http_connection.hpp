#pragma once
// Beast's templates: included by the files http_*.cpp alone, which are compiled each by itself.
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <deque>
#include <map>

#include "serve/http.hpp"
#include "serve/http_answer.hpp"

namespace omnirt::serve {
namespace net = boost::asio;
namespace beast = boost::beast;

// What the connections of a server share. Members but `workers` belong to the thread of `io`.
struct HttpShared {
  HttpLimits limits;
  HttpProgram program;
  net::io_context io{1};
  std::unique_ptr<net::thread_pool> workers;
  std::atomic<size_t> connections{0};   // but those that are turned away
  std::map<std::string, size_t> peers;  // how many of them each peer has
  size_t turned_away = 0;
  size_t body_bytes = 0;
  size_t answer_bytes = 0;  // of answers and events that clients have not taken
  bool stopping = false;

  // Whether a client that has not taken `unsent` bytes may leave them here. Past the limit of all
  // together, those go that are behind.
  bool may_hold(size_t unsent) const {
    constexpr size_t behind = 16;
    return unsent <= limits.unsent_bytes &&
           (answer_bytes <= limits.all_answers_bytes || unsent <= limits.unsent_bytes / behind);
  }
};

// Whose connections are counted together.
std::string peer_of(const net::ip::address& address);

class HttpConnection;
class BeastSocket;

// One request's answer: hands what it is given over to the connection's thread.
class BeastExchange final : public HttpExchange {
 public:
  BeastExchange(std::shared_ptr<HttpConnection> connection, HttpRequest request)
      : connection_(std::move(connection)), request_(std::move(request)) {}
  const HttpRequest& request() const override { return request_; }
  void respond(HttpResponse response) override;
  void begin_events(HttpResponse head) override;
  void send(std::string piece) override;
  void end() override;
  void open_socket(std::string protocol, SocketOpened opened) override;
  void on_closed(std::function<void()> closed) override;

 private:
  std::shared_ptr<HttpConnection> connection_;
  HttpRequest request_;
};

// One client's connection: reads a request, has it handled, writes the answer, and again. All its
// methods run on the thread of `io`.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(beast::tcp_stream stream, std::shared_ptr<HttpShared> shared);
  ~HttpConnection();
  void start();
  // One more than there may be: says so, and ends.
  void turn_away(const std::string& why);
  void close();
  const std::string& peer() const { return peer_key_; }
  // Since when it has waited for a request's header; 0 while a request is handled.
  double waiting_since_ms() const { return waiting_ms_; }

 private:
  friend class BeastExchange;
  using Parser = beast::http::request_parser<beast::http::string_body>;
  using Message = beast::http::request<beast::http::string_body>;
  using FileParser = beast::http::request_parser<beast::http::file_body>;

  void read_header();
  void on_header(beast::error_code error);
  std::optional<HttpResponse> refuse_head();
  std::optional<HttpResponse> place_body(uint64_t bytes);
  HttpResponse refusal(int status, const std::string& detail) const;
  void read_body();
  void on_body(beast::error_code error);
  void read_into_file();
  void on_file(beast::error_code error);
  void hand_over(HttpRequest request);
  HttpRequest head() const;
  void refuse_error(beast::error_code error);
  void watch();
  void on_watched(beast::error_code error, size_t bytes);
  void half_closed();
  void watch_for_reset();
  void probe();

  void respond(HttpResponse response);
  void respond_and_close(HttpResponse response);
  HttpResponse sendable(HttpResponse response);
  void write_answer();
  void on_written(beast::error_code error, bool keep);
  void linger(size_t most);
  void begin_events(HttpResponse head);
  void send(std::string piece);
  void end();
  void open_socket(const std::string& protocol, SocketOpened opened);
  void write_next();
  void on_piece(beast::error_code error);
  void ping();
  void on_closed(std::function<void()> closed);
  void client_left();
  void finished(int status);
  void give_back_body();
  void give_back_answer();
  void count_out();

  beast::tcp_stream stream_;
  std::shared_ptr<HttpShared> shared_;
  beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::optional<FileParser> file_parser_;        // in its place, where the body goes to a file
  std::shared_ptr<const BodyFile> body_file_{};  // while it is read
  HttpRequest current_;                          // without its body, for the log
  std::string peer_, peer_key_;
  double begun_ms_ = 0, waiting_ms_ = 0;
  size_t held_body_ = 0, sent_bytes_ = 0;
  bool first_ = true, first_piece_ = false, keep_ = false;
  bool counted_ = false, turned_away_ = false;
  bool old_ = false;       // the request is of HTTP/1.0
  bool handling_ = false;  // a request is with a worker, or its answer under way
  bool watching_ = false, next_ = false, closed_ = false;
  bool events_ = false, ending_ = false, writing_ = false;
  size_t unsent_ = 0, held_answer_ = 0;
  std::deque<std::string> pieces_;
  std::unique_ptr<HttpAnswer> answer_;
  std::optional<Message> upgrade_;
  std::shared_ptr<BeastSocket> socket_;  // has the stream
  std::function<void()> left_;
  net::steady_timer ping_;
};

}  // namespace omnirt::serve
