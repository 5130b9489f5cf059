// How answers are written.
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include "serve/http_connection.hpp"
#include "serve/http_socket.hpp"

namespace omnirt::serve {
namespace http = beast::http;
namespace {

constexpr std::chrono::seconds lingering{2};
constexpr size_t lingering_bytes = size_t{64} << 20;

using Response = http::response<http::string_body>;

// The answer to HEAD says how long a body would be, and has none.
Response made_of(HttpResponse&& from, const HttpRequest& request, bool keep) {
  Response made{static_cast<http::status>(from.status), 11};
  if (!from.type.empty()) made.set(http::field::content_type, from.type);
  made.set("X-Request-Id", request.id);
  made.set("X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : from.headers) made.set(name, value);
  made.keep_alive(keep);
  made.body() = std::move(from.body);
  made.prepare_payload();
  if (request.method == "HEAD") made.body().clear();
  return made;
}

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

void HttpConnection::respond(HttpResponse response) {
  if (closed_ || !handling_ || socket_) return;
  if (events_) return end();  // too late for another answer
  left_ = nullptr;
  const int status = response.status;
  sent_bytes_ = response.body.size();
  auto made = std::make_shared<Response>(
      made_of(std::move(response), current_, keep_ && !shared_->stopping));
  response_ = made;
  stream_.expires_after(std::chrono::seconds(shared_->limits.write_seconds));
  http::async_write(stream_, *made,
                    [self = shared_from_this(), made, status](beast::error_code error, size_t) {
                      self->finished(error ? 499 : status);
                      self->on_written(error, made->keep_alive());
                    });
}

void HttpConnection::on_written(beast::error_code error, bool keep) {
  response_.reset();
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
  if (closed_ || !handling_) return;
  events_ = true;
  std::string text =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
      "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
      "Connection: close\r\nX-Request-Id: " +
      current_.id + "\r\n";
  for (const auto& [name, value] : head.headers) text += name + ": " + value + "\r\n";
  send(text + "\r\n");
  ping();
}

// A client that takes nothing holds no more than a bounded number of bytes here.
void HttpConnection::send(std::string piece) {
  if (closed_ || !events_ || ending_) return;
  unsent_ += piece.size();
  if (unsent_ > shared_->limits.unsent_bytes) return client_left();
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
