#include "serve/http_connection.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <limits>

#include "base/clock.hpp"
#include "serve/http_socket.hpp"
#include "serve/survive.hpp"

namespace omnirt::serve {
namespace http = beast::http;
namespace {

std::string text_of(beast::string_view text) {
  return {text.data(), text.size()};
}

// An id that a client gave, where it may stand in a log.
bool is_request_id(const std::string& text) {
  auto is_plain = [](char each) {
    return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
           (each >= '0' && each <= '9') || each == '-' || each == '_' || each == '.';
  };
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), is_plain);
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char each) { return static_cast<char>(std::tolower(each)); });
  return text;
}

}  // namespace

HttpConnection::HttpConnection(beast::tcp_stream stream, std::shared_ptr<HttpShared> shared)
    : stream_(std::move(stream)), shared_(std::move(shared)), ping_(shared_->io) {
  ++shared_->connections;
  beast::error_code error;
  const auto remote = stream_.socket().remote_endpoint(error);
  if (!error) peer_ = remote.address().to_string();
}

HttpConnection::~HttpConnection() {
  give_back_body();
  --shared_->connections;
}

void HttpConnection::give_back_body() {
  shared_->body_bytes -= held_body_;
  held_body_ = 0;
}

void HttpConnection::start() {
  read_header();
}

void HttpConnection::turn_away() {
  current_.id = random_id();
  current_.peer = peer_;
  begun_ms_ = now_ms();
  respond_and_close(refusal(503, "the server has as many connections as it may have"));
}

void HttpConnection::read_header() {
  if (closed_) return;
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

HttpRequest HttpConnection::head() const {
  const auto& message = parser_->get();
  HttpRequest made;
  made.method = text_of(message.method_string());
  const std::string target = text_of(message.target());
  const size_t mark = target.find('?');
  made.path = target.substr(0, mark);
  if (mark != std::string::npos) made.query = query_of(std::string_view(target).substr(mark + 1));
  for (const auto& field : message)
    made.headers[lower(text_of(field.name_string()))] = text_of(field.value());
  made.peer = peer_;
  made.upgrade = beast::websocket::is_upgrade(message);
  const std::string& given = made.header("x-request-id");
  made.id = is_request_id(given) ? given : random_id();
  made.trace = read_traceparent(made.header("traceparent")).value_or(new_trace());
  made.span = new_span_id();
  return made;
}

HttpResponse HttpConnection::refusal(int status, const std::string& detail) const {
  return shared_->program.refuse(current_, status, detail);
}

// What is wrong with a request by its headers.
std::optional<HttpResponse> HttpConnection::refuse_head() {
  if (parser_->chunked())
    return refusal(411, "a body is sent with Content-Length, and not in chunks");
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

void HttpConnection::on_header(beast::error_code error) {
  if (closed_) return;
  begun_ms_ = now_ms();
  if (error) {
    current_ = {};
    current_.id = random_id();
    current_.peer = peer_;
    if (error == http::error::header_limit)
      return respond_and_close(refusal(431, "the header is too large"));
    if (error.category() == make_error_code(http::error::bad_method).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message)
      return respond_and_close(refusal(400, "this is no HTTP request: " + error.message()));
    return close();
  }
  current_ = head();
  keep_ = parser_->keep_alive();
  handling_ = true;
  if (auto refused = refuse_head()) return respond_and_close(std::move(*refused));
  if (lower(current_.header("expect")) != "100-continue") return read_body();
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
    survive("a request", [&] { shared->program.handle(exchange); });
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
  if (error) client_left();
}

void HttpConnection::client_left() {
  if (handling_) finished(499);
  close();
}

void HttpConnection::close() {
  if (closed_) return;
  closed_ = true;
  ping_.cancel();
  if (auto socket = socket_) return socket->drop();
  beast::error_code ignored;
  stream_.socket().shutdown(net::ip::tcp::socket::shutdown_both, ignored);
  stream_.close();
  if (auto left = std::exchange(left_, nullptr)) left();
}

void HttpConnection::finished(int status) {
  handling_ = false;
  give_back_body();
  shared_->program.log(current_, status, sent_bytes_, now_ms() - begun_ms_);
  sent_bytes_ = 0;
}

void HttpConnection::on_closed(std::function<void()> closed) {
  if (closed_) return closed();
  if (handling_) left_ = std::move(closed);
}

}  // namespace omnirt::serve
