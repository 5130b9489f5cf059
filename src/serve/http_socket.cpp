#include "serve/http_socket.hpp"

#include <boost/asio/post.hpp>

#include "base/clock.hpp"
#include "serve/survive.hpp"

namespace omnirt::serve {
namespace websocket = beast::websocket;

BeastSocket::BeastSocket(beast::tcp_stream stream, std::shared_ptr<HttpShared> shared,
                         std::function<void(size_t)> ended)
    : stream_(std::move(stream)),
      shared_(std::move(shared)),
      ended_(std::move(ended)),
      silence_(shared_->io) {}

// A client that does not answer pings is gone. Messages are not compressed: a short one cannot be a
// long one.
void BeastSocket::set_options(const std::string& id, const std::string& protocol) {
  const HttpLimits& limits = shared_->limits;
  stream_.set_option(websocket::stream_base::timeout{
      .handshake_timeout = std::chrono::seconds(limits.header_seconds),
      .idle_timeout = std::chrono::seconds(2 * limits.ping_seconds),
      .keep_alive_pings = true});
  stream_.set_option(
      websocket::stream_base::decorator([id, protocol](websocket::response_type& response) {
        response.set("X-Request-Id", id);
        if (!protocol.empty()) response.set(beast::http::field::sec_websocket_protocol, protocol);
      }));
  stream_.read_message_max(limits.message_bytes);
  stream_.text(true);
}

void BeastSocket::accept(const Request& request, const std::string& id, const std::string& protocol,
                         SocketOpened opened) {
  set_options(id, protocol);
  auto kept = std::make_shared<Request>(request);
  stream_.async_accept(*kept, [self = shared_from_this(), kept,
                               opened = std::move(opened)](beast::error_code error) {
    if (error || self->over_) return self->over();
    self->open_ = true;
    self->heard_ms_ = now_ms();
    self->program_ = opened(self);
    self->watch_silence();
    self->read();
    self->write_next();
  });
}

void BeastSocket::read() {
  stream_.async_read(buffer_, [self = shared_from_this()](beast::error_code error, size_t) {
    if (error || self->over_) return self->over();
    self->on_message();
  });
}

void BeastSocket::on_message() {
  heard_ms_ = now_ms();
  if (!stream_.got_text()) return close({websocket::close_code::unknown_data, "send text"});
  const size_t bytes = buffer_.size();
  if (shared_->body_bytes + bytes > shared_->limits.all_bodies_bytes)
    return close({websocket::close_code::try_again_later, "the server holds many messages"});
  held_ = bytes;
  shared_->body_bytes += held_;
  std::string text = beast::buffers_to_string(buffer_.data());
  buffer_ = {};
  handling_ = true;
  net::post(*shared_->workers, [self = shared_from_this(), text = std::move(text)]() mutable {
    survive("a message", [&] { self->program_.message(std::move(text)); });
    net::post(self->shared_->io, [self] { self->on_handled(); });
  });
}

void BeastSocket::on_handled() {
  handling_ = false;
  shared_->body_bytes -= held_;
  held_ = 0;
  if (over_) return tell_closed();
  read();
}

void BeastSocket::send(std::string text) {
  net::post(shared_->io, [self = shared_from_this(), text = std::move(text)]() mutable {
    self->push(std::move(text), /*needed=*/true);
  });
}

void BeastSocket::offer(std::string text) {
  net::post(shared_->io, [self = shared_from_this(), text = std::move(text)]() mutable {
    self->push(std::move(text), /*needed=*/false);
  });
}

// A client that takes nothing holds no more than a bounded number of bytes here.
void BeastSocket::push(std::string text, bool needed) {
  constexpr size_t behind = 16;
  if (over_ || closing_) return;
  if (!needed && unsent_ > shared_->limits.unsent_bytes / behind) return;
  unsent_ += text.size();
  shared_->answer_bytes += text.size();
  if (!shared_->may_hold(unsent_)) return drop();
  messages_.push_back(std::move(text));
  write_next();
}

void BeastSocket::write_next() {
  if (!open_ || writing_ || over_) return;
  if (messages_.empty()) {
    if (!closing_) return;
    writing_ = true;
    return stream_.async_close(*closing_,
                               [self = shared_from_this()](beast::error_code) { self->over(); });
  }
  writing_ = true;
  stream_.async_write(net::buffer(messages_.front()),
                      [self = shared_from_this()](beast::error_code error, size_t) {
                        self->writing_ = false;
                        if (error || self->over_) return self->over();
                        self->unsent_ -= self->messages_.front().size();
                        self->shared_->answer_bytes -= self->messages_.front().size();
                        self->sent_ += self->messages_.front().size();
                        self->messages_.pop_front();
                        self->write_next();
                      });
}

void BeastSocket::set_busy(bool busy) {
  net::post(shared_->io, [self = shared_from_this(), busy] {
    self->busy_ = busy;
    self->heard_ms_ = now_ms();
  });
}

void BeastSocket::watch_silence() {
  const double most_ms = 1000.0 * shared_->limits.idle_seconds;
  const double silent_ms = busy_ ? 0 : now_ms() - heard_ms_;
  if (silent_ms >= most_ms) return close({websocket::close_code::going_away, "nothing was said"});
  silence_.expires_after(std::chrono::milliseconds(static_cast<int64_t>(most_ms - silent_ms) + 1));
  silence_.async_wait([self = shared_from_this()](beast::error_code error) {
    if (!error && !self->over_) self->watch_silence();
  });
}

// What is to be sent goes first.
void BeastSocket::close(websocket::close_reason reason) {
  if (over_ || closing_) return;
  closing_ = std::move(reason);
  write_next();
}

void BeastSocket::drop() {
  beast::get_lowest_layer(stream_).close();
  over();
}

void BeastSocket::over() {
  if (over_) return;
  over_ = true;
  shared_->answer_bytes -= unsent_;
  unsent_ = 0;
  silence_.cancel();
  beast::get_lowest_layer(stream_).close();
  if (ended_) std::exchange(ended_, nullptr)(sent_);
  if (!handling_) tell_closed();
}

void BeastSocket::tell_closed() {
  SocketProgram program = std::exchange(program_, {});
  if (!program.closed) return;
  net::post(*shared_->workers,
            [closed = std::move(program.closed)] { survive("the end of a socket", closed); });
}

}  // namespace omnirt::serve
