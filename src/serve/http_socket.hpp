#pragma once
// Beast's templates, as http_connection.hpp.
#include <boost/beast/websocket.hpp>

#include "serve/http_connection.hpp"

namespace omnirt::serve {

// A WebSocket (RFC 6455) on the stream of a connection. What is no frame, too long, or no UTF-8
// ends it with the code that says so. The methods of HttpSocket are for any thread, the others run
// on the thread of `io`.
class BeastSocket final : public HttpSocket, public std::enable_shared_from_this<BeastSocket> {
 public:
  using Request = beast::http::request<beast::http::string_body>;
  // `ended` is called once, with the bytes of the messages that were sent.
  BeastSocket(beast::tcp_stream stream, std::shared_ptr<HttpShared> shared,
              std::function<void(size_t)> ended);
  // Answers the handshake, and reads.
  void accept(const Request& request, const std::string& id, const std::string& protocol,
              SocketOpened opened);
  // Ends it without a word.
  void drop();

  void send(std::string text) override;
  void offer(std::string text) override;
  void set_busy(bool busy) override;

 private:
  void set_options(const std::string& id, const std::string& protocol);
  void read();
  void on_message();
  void on_handled();
  void push(std::string text, bool needed);
  void write_next();
  void watch_silence();
  void close(beast::websocket::close_reason reason);
  void over();
  void tell_closed();

  beast::websocket::stream<beast::tcp_stream> stream_;
  std::shared_ptr<HttpShared> shared_;
  std::function<void(size_t)> ended_;
  SocketProgram program_;
  beast::flat_buffer buffer_;
  std::deque<std::string> messages_;
  size_t unsent_ = 0, sent_ = 0, held_ = 0;
  bool open_ = false, writing_ = false, handling_ = false, over_ = false, busy_ = false;
  std::optional<beast::websocket::close_reason> closing_;
  double heard_ms_ = 0;
  net::steady_timer silence_;
};

}  // namespace omnirt::serve
