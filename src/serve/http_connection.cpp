#include "serve/http_connection.hpp"

#include <poll.h>
#include <spdlog/spdlog.h>

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <limits>

#include "base/clock.hpp"
#include "serve/http_socket.hpp"
#include "serve/survive.hpp"

namespace omnirt::serve {
namespace http = beast::http;

// A network of IPv6 gives each of its machines any number of addresses.
std::string peer_of(const net::ip::address& address) {
  if (address.is_v4()) return address.to_string();
  const net::ip::address_v6 v6 = address.to_v6();
  if (v6.is_v4_mapped()) return net::ip::make_address_v4(net::ip::v4_mapped, v6).to_string();
  net::ip::address_v6::bytes_type bytes = v6.to_bytes();
  if (!v6.is_loopback()) std::fill(bytes.begin() + 8, bytes.end(), uint8_t{0});
  return net::ip::address_v6(bytes).to_string();
}

HttpConnection::HttpConnection(beast::tcp_stream stream, std::shared_ptr<HttpShared> shared)
    : stream_(std::move(stream)), shared_(std::move(shared)), ping_(shared_->io) {
  beast::error_code error;
  const auto remote = stream_.socket().remote_endpoint(error);
  if (error) return;
  peer_ = remote.address().to_string();
  peer_key_ = peer_of(remote.address());
}

HttpConnection::~HttpConnection() {
  give_back_body();
  give_back_answer();
  count_out();
}

void HttpConnection::count_out() {
  if (std::exchange(turned_away_, false)) --shared_->turned_away;
  if (!std::exchange(counted_, false)) return;
  --shared_->connections;
  if (--shared_->peers[peer_key_] == 0) shared_->peers.erase(peer_key_);
}

void HttpConnection::give_back_body() {
  shared_->body_bytes -= held_body_;
  held_body_ = 0;
}

void HttpConnection::give_back_answer() {
  shared_->answer_bytes -= held_answer_ + unsent_;
  held_answer_ = unsent_ = 0;
}

void HttpConnection::start() {
  counted_ = true;
  ++shared_->connections;
  ++shared_->peers[peer_key_];
  read_header();
}

void HttpConnection::turn_away(const std::string& why) {
  turned_away_ = true;
  ++shared_->turned_away;
  current_.id = random_id();
  current_.peer = peer_;
  begun_ms_ = now_ms();
  HttpResponse response = refusal(503, why);
  response.headers.emplace_back("Retry-After", "1");
  respond_and_close(std::move(response));
}

void HttpConnection::read_header() {
  if (closed_) return;
  waiting_ms_ = now_ms();
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(shared_->limits.header_bytes));
  // refuse_head looks at the length; Beast takes "none" for a limit of nothing.
  parser_->body_limit(std::numeric_limits<uint64_t>::max());
  stream_.expires_after(
      std::chrono::seconds(first_ ? shared_->limits.header_seconds : shared_->limits.idle_seconds));
  first_ = false;
  http::async_read_header(
      stream_, buffer_, *parser_,
      [self = shared_from_this()](beast::error_code error, size_t) { self->on_header(error); });
}

HttpResponse HttpConnection::refusal(int status, const std::string& detail) const {
  return shared_->program.refuse(current_, status, detail);
}

// What is wrong with a request by its headers.
std::optional<HttpResponse> HttpConnection::refuse_head() {
  if (parser_->chunked())
    return refusal(411, "a body is sent with Content-Length, and not in chunks");
  if (parser_->get().count(http::field::host) > 1)
    return refusal(400, "a request has one Host header");
  if (auto refused = shared_->program.admit(current_)) return refused;
  const auto length = parser_->content_length();
  return length ? place_body(*length) : std::nullopt;
}

// Into a file where the program says so, else into memory.
std::optional<HttpResponse> HttpConnection::place_body(uint64_t bytes) {
  if (shared_->program.place_body) {
    HttpProgram::BodyPlace place = shared_->program.place_body(current_, bytes);
    if (place.refused) return std::move(place.refused);
    body_file_ = std::move(place.file);
    if (body_file_) return std::nullopt;
  }
  if (bytes > shared_->limits.body_bytes)
    return refusal(
        413, "the body is larger than " + std::to_string(shared_->limits.body_bytes) + " bytes");
  if (shared_->body_bytes + bytes > shared_->limits.all_bodies_bytes)
    return refusal(503, "the server reads as many bodies as it may hold");
  held_body_ = bytes;
  shared_->body_bytes += held_body_;
  return std::nullopt;
}

// What came is no request, or nothing came.
void HttpConnection::refuse_error(beast::error_code error) {
  current_ = {};
  current_.id = random_id();
  current_.peer = peer_;
  if (error == http::error::header_limit)
    return respond_and_close(refusal(431, "the header is too large"));
  if (error.category() == make_error_code(http::error::bad_method).category() &&
      error != http::error::end_of_stream && error != http::error::partial_message)
    return respond_and_close(refusal(400, "this is no HTTP request: " + error.message()));
  close();
}

void HttpConnection::on_header(beast::error_code error) {
  if (closed_) return;
  begun_ms_ = now_ms();
  if (error) return refuse_error(error);
  waiting_ms_ = 0;
  current_ = head();
  keep_ = parser_->keep_alive();
  old_ = parser_->get().version() < 11;
  handling_ = true;
  if (auto refused = refuse_head()) return respond_and_close(std::move(*refused));
  if (!beast::iequals(current_.header("expect"), "100-continue")) return read_body();
  static const std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n";
  stream_.expires_after(std::chrono::seconds(shared_->limits.write_seconds));
  net::async_write(stream_, net::buffer(go_on),
                   [self = shared_from_this()](beast::error_code failed, size_t) {
                     if (failed) return self->close();
                     self->read_body();
                   });
}

void HttpConnection::read_body() {
  if (body_file_) return read_into_file();
  stream_.expires_after(std::chrono::seconds(shared_->limits.body_seconds));
  http::async_read(
      stream_, buffer_, *parser_,
      [self = shared_from_this()](beast::error_code error, size_t) { self->on_body(error); });
}

void HttpConnection::on_body(beast::error_code error) {
  if (closed_) return;
  if (error == beast::error::timeout)
    return respond_and_close(refusal(408, "the body did not come in time"));
  if (error) return client_left();
  HttpRequest request = current_;
  request.body = std::move(parser_->get().body());
  hand_over(std::move(request));
}

// Of a body that may be large, by its size.
void HttpConnection::read_into_file() {
  const auto seconds =
      static_cast<uint64_t>(shared_->limits.body_seconds) +
      parser_->content_length().value_or(0) / shared_->limits.least_body_bytes_per_second;
  file_parser_.emplace(std::move(*parser_));
  parser_.reset();
  beast::error_code error;
  file_parser_->get().body().open(body_file_->path.c_str(), beast::file_mode::write_new, error);
  if (error) return on_file(error);
  buffer_.reserve(size_t{64} << 10);  // Beast reads as much at a time as there is room for
  stream_.expires_after(std::chrono::seconds(seconds));
  http::async_read(
      stream_, buffer_, *file_parser_,
      [self = shared_from_this()](beast::error_code failed, size_t) { self->on_file(failed); });
}

void HttpConnection::on_file(beast::error_code error) {
  file_parser_.reset();
  auto file = std::exchange(body_file_, nullptr);
  if (closed_) return;
  if (error == beast::error::timeout)
    return respond_and_close(refusal(408, "the body did not come in time"));
  if (error == beast::errc::no_space_on_device || error == beast::errc::io_error)
    return respond_and_close(refusal(507, "the body cannot be kept: " + error.message()));
  if (error) return client_left();
  HttpRequest request = current_;
  request.file = std::move(file);
  hand_over(std::move(request));
}

void HttpConnection::hand_over(HttpRequest request) {
  // Until its answer a client says nothing more that would belong to a WebSocket.
  if (request.upgrade)
    upgrade_ = parser_->release();
  else
    watch();
  parser_.reset();
  auto exchange = std::make_shared<BeastExchange>(shared_from_this(), std::move(request));
  net::post(*shared_->workers, [shared = shared_, exchange] {
    if (!survive("a request", [&] { shared->program.handle(exchange); }))
      exchange->respond({.status = 500, .type = ""});
  });
}

// While a request is handled, the next thing to be read tells whether the client is still there.
void HttpConnection::watch() {
  watching_ = true;
  stream_.expires_never();
  stream_.async_read_some(buffer_.prepare(1024),
                          [self = shared_from_this()](beast::error_code error, size_t bytes) {
                            self->on_watched(error, bytes);
                          });
}

void HttpConnection::on_watched(beast::error_code error, size_t bytes) {
  watching_ = false;
  buffer_.commit(bytes);
  if (closed_) return;
  if (next_) {
    next_ = false;
    if (error && error != net::error::operation_aborted) return close();
    return read_header();
  }
  if (error == net::error::eof) return half_closed();
  if (error) return client_left();
  // What it sends ahead, up to a bound: the end of its requests may follow.
  if (buffer_.size() < shared_->limits.header_bytes) watch();
}

// The client sends nothing more. Whether it still reads is seen when it is sent something: one that
// is gone answers with a reset.
void HttpConnection::half_closed() {
  if (buffer_.size() == 0) keep_ = false;
  watch_for_reset();
  if (events_)
    send(": still here\n\n");
  else
    probe();
}

void HttpConnection::watch_for_reset() {
  stream_.socket().async_wait(
      net::socket_base::wait_error, [self = shared_from_this()](beast::error_code error) {
        if (error || self->closed_) return;
        pollfd state{self->stream_.socket().native_handle(), 0, 0};
        if (::poll(&state, 1, 0) == 1 && (state.revents & (POLLERR | POLLHUP)) != 0)
          return self->client_left();
        self->watch_for_reset();
      });
}

// 100 (Continue) may come at any time before an answer, and clients ignore one that they did not
// ask for (RFC 9110, 15.2). Those of HTTP/1.0 do not know it.
void HttpConnection::probe() {
  if (closed_ || !handling_ || answer_ || events_ || old_) return;
  beast::error_code error;
  static const std::string still_here = "HTTP/1.1 100 Continue\r\n\r\n";
  stream_.socket().write_some(net::buffer(still_here), error);
  if (error) return client_left();
  ping_.expires_after(std::chrono::seconds(shared_->limits.ping_seconds));
  ping_.async_wait([self = shared_from_this()](beast::error_code stopped) {
    if (!stopped) self->probe();
  });
}

void HttpConnection::client_left() {
  if (handling_) finished(499);
  close();
}

void HttpConnection::close() {
  if (closed_) return;
  closed_ = true;
  waiting_ms_ = 0;
  count_out();
  ping_.cancel();
  if (auto socket = socket_) return socket->drop();
  beast::error_code ignored;
  stream_.socket().shutdown(net::ip::tcp::socket::shutdown_both, ignored);
  stream_.close();
  if (auto left = std::exchange(left_, nullptr)) left();
}

// Once for each request: an answer that is cut ends by the client and by the write.
void HttpConnection::finished(int status) {
  if (!std::exchange(handling_, false)) return;
  give_back_body();
  give_back_answer();
  shared_->program.log(current_, status, sent_bytes_, now_ms() - begun_ms_);
  sent_bytes_ = 0;
}

void HttpConnection::on_closed(std::function<void()> closed) {
  if (closed_) return closed();
  if (handling_) left_ = std::move(closed);
}

}  // namespace omnirt::serve
