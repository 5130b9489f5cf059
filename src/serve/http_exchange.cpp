// How answers are written.
#include <spdlog/spdlog.h>

#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include "serve/http_connection.hpp"
#include "serve/http_socket.hpp"

namespace omnirt::serve {
namespace http = beast::http;
namespace {

constexpr std::chrono::seconds lingering{2};
constexpr size_t lingering_bytes = size_t{64} << 20;

}  // namespace

void BeastExchange::respond(HttpResponse response) {
  net::post(connection_->shared_->io,
            [connection = connection_, response = std::move(response)]() mutable {
              connection->respond(std::move(response));
            });
}

void BeastExchange::begin_events(HttpResponse head) {
  net::post(connection_->shared_->io, [connection = connection_, head = std::move(head)]() mutable {
    connection->begin_events(std::move(head));
  });
}

void BeastExchange::send(std::string piece) {
  net::post(connection_->shared_->io,
            [connection = connection_, piece = std::move(piece)]() mutable {
              connection->send(std::move(piece));
            });
}

void BeastExchange::end() {
  net::post(connection_->shared_->io, [connection = connection_] { connection->end(); });
}

void BeastExchange::open_socket(std::string protocol, SocketOpened opened) {
  net::post(connection_->shared_->io, [connection = connection_, protocol = std::move(protocol),
                                       opened = std::move(opened)]() mutable {
    connection->open_socket(protocol, std::move(opened));
  });
}

void BeastExchange::on_closed(std::function<void()> closed) {
  net::post(connection_->shared_->io,
            [connection = connection_, closed = std::move(closed)]() mutable {
              connection->on_closed(std::move(closed));
            });
}

void HttpConnection::respond_and_close(HttpResponse response) {
  keep_ = false;
  handling_ = true;
  respond(std::move(response));
}

// The answer, or another in its place: one whose headers would end early, or that is more than the
// server holds in memory.
HttpResponse HttpConnection::sendable(HttpResponse response) {
  if (!has_valid_headers(response)) {
    spdlog::error("request {}: the answer has a header with a control character", current_.id);
    return refusal(500, "the answer has a header with a control character");
  }
  const size_t held = response.body.size();
  if (held <= answer_piece_bytes ||
      shared_->answer_bytes + held <= shared_->limits.all_answers_bytes)
    return response;
  response = refusal(503,
                     "the server holds as many answers as it may, which clients have not taken; "
                     "try again, or fetch a job's images one by one (GET /v1/jobs)");
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

void HttpConnection::respond(HttpResponse response) {
  if (closed_ || !handling_ || socket_ || answer_) return;
  if (events_) return end();  // too late for another answer
  left_ = nullptr;
  answer_ = std::make_unique<HttpAnswer>(sendable(std::move(response)), current_,
                                         keep_ && !shared_->stopping);
  first_piece_ = true;
  held_answer_ = answer_->held();
  shared_->answer_bytes += held_answer_;
  write_answer();
}

// Each piece has the time to be taken, so that a slow client is answered and a silent one is not.
void HttpConnection::write_answer() {
  std::string_view piece;
  try {
    piece = answer_->next();
  } catch (const std::exception& error) {
    spdlog::error("request {}: {}", current_.id, error.what());
    return client_left();
  }
  if (piece.empty() && !first_piece_) {
    const int status = answer_->status();
    finished(status);
    return on_written({}, answer_->keep());
  }
  const std::array<net::const_buffer, 2> buffers{
      net::buffer(first_piece_ ? std::string_view(answer_->head()) : std::string_view()),
      net::buffer(piece)};
  first_piece_ = false;
  stream_.expires_after(std::chrono::seconds(shared_->limits.write_seconds));
  net::async_write(
      stream_, buffers,
      [self = shared_from_this(), size = piece.size()](beast::error_code error, size_t) {
        if (self->closed_) return;
        if (error) return self->client_left();
        self->sent_bytes_ += size;
        self->write_answer();
      });
}

void HttpConnection::on_written(beast::error_code error, bool keep) {
  answer_.reset();
  if (closed_) return;
  if (error) return close();
  if (!keep) return linger(lingering_bytes);
  if (!watching_) return read_header();
  next_ = true;
  stream_.cancel();
}

// A connection that is closed with bytes unread is reset, and the answer with it: what the client
// still sends is read and dropped for a while.
void HttpConnection::linger(size_t most) {
  beast::error_code ignored;
  stream_.socket().shutdown(net::ip::tcp::socket::shutdown_send, ignored);
  if (watching_) return close();
  buffer_.clear();
  stream_.expires_after(lingering);
  stream_.async_read_some(buffer_.prepare(size_t{64} << 10),
                          [self = shared_from_this(), most](beast::error_code error, size_t bytes) {
                            if (error || bytes >= most) return self->close();
                            self->linger(most - bytes);
                          });
}

void HttpConnection::begin_events(HttpResponse head) {
  if (closed_ || !handling_ || answer_) return;
  events_ = true;
  std::string text =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
      "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
      "Connection: close\r\nX-Request-Id: " +
      current_.id + "\r\n";
  if (!has_valid_headers(head)) head.headers.clear();
  for (const auto& [name, value] : head.headers) text += name + ": " + value + "\r\n";
  send(text + "\r\n");
  ping();
}

// A client that takes nothing holds no more than a bounded number of bytes here.
void HttpConnection::send(std::string piece) {
  if (closed_ || !events_ || ending_) return;
  unsent_ += piece.size();
  shared_->answer_bytes += piece.size();
  if (!shared_->may_hold(unsent_)) return client_left();
  pieces_.push_back(std::move(piece));
  if (!writing_) write_next();
}

void HttpConnection::end() {
  if (closed_ || !events_) return;
  ending_ = true;
  left_ = nullptr;
  if (!writing_) write_next();
}

// The stream is the socket's from here on, and this the keeper of what is logged and counted.
void HttpConnection::open_socket(const std::string& protocol, SocketOpened opened) {
  if (closed_ || !handling_ || !upgrade_) return;
  if (buffer_.size() > 0)
    return respond_and_close(refusal(400, "bytes came before the WebSocket was open"));
  stream_.expires_never();
  socket_ = std::make_shared<BeastSocket>(std::move(stream_), shared_,
                                          [self = shared_from_this()](size_t sent) {
                                            self->closed_ = true;
                                            self->sent_bytes_ = sent;
                                            self->finished(101);
                                            self->socket_.reset();
                                          });
  socket_->accept(*upgrade_, current_.id, protocol, std::move(opened));
  upgrade_.reset();
}

void HttpConnection::write_next() {
  if (pieces_.empty()) {
    if (!ending_) return;
    finished(200);
    return on_written({}, /*keep=*/false);
  }
  writing_ = true;
  stream_.expires_after(std::chrono::seconds(shared_->limits.write_seconds));
  net::async_write(
      stream_, net::buffer(pieces_.front()),
      [self = shared_from_this()](beast::error_code error, size_t) { self->on_piece(error); });
}

void HttpConnection::on_piece(beast::error_code error) {
  writing_ = false;
  if (closed_) return;
  if (error) return client_left();
  unsent_ -= pieces_.front().size();
  shared_->answer_bytes -= pieces_.front().size();
  sent_bytes_ += pieces_.front().size();
  pieces_.pop_front();
  write_next();
}

void HttpConnection::ping() {
  ping_.expires_after(std::chrono::seconds(shared_->limits.ping_seconds));
  ping_.async_wait([self = shared_from_this()](beast::error_code error) {
    if (error || self->closed_ || self->ending_) return;
    self->send(": still here\n\n");
    self->ping();
  });
}

}  // namespace omnirt::serve
