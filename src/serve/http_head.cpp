// What a request's head says.
#include <algorithm>
#include <boost/beast/websocket/rfc6455.hpp>

#include "serve/http_connection.hpp"

namespace omnirt::serve {
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

// A target in absolute form names the host, and the Host header then means nothing (RFC 9112,
// 3.2.2).
std::optional<std::string> take_authority(std::string& target) {
  const std::string small = lower(target.substr(0, 8));
  const size_t begin = small.starts_with("http://") ? 7 : small.starts_with("https://") ? 8 : 0;
  if (begin == 0) return std::nullopt;
  const size_t end = std::min(target.find_first_of("/?", begin), target.size());
  std::string authority = target.substr(begin, end - begin);
  target.erase(0, end);
  if (!target.starts_with('/')) target.insert(0, "/");
  return authority;
}

// Clients put addresses together with a slash too many.
std::string settled_path(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  path.erase(0, std::min(path.find_first_not_of('/'), path.size()));
  return path == "*" ? path : "/" + path;
}

}  // namespace

HttpRequest HttpConnection::head() const {
  const auto& message = parser_->get();
  HttpRequest made;
  made.method = text_of(message.method_string());
  std::string target = text_of(message.target());
  const auto authority = take_authority(target);
  const size_t mark = target.find('?');
  made.path = settled_path(target.substr(0, mark));
  if (mark != std::string::npos) made.query = query_of(std::string_view(target).substr(mark + 1));
  for (const auto& field : message)
    made.headers[lower(text_of(field.name_string()))] = text_of(field.value());
  if (authority) made.headers["host"] = *authority;
  made.peer = peer_;
  made.upgrade = beast::websocket::is_upgrade(message);
  const std::string& given = made.header("x-request-id");
  made.id = is_request_id(given) ? given : random_id();
  made.trace = read_traceparent(made.header("traceparent")).value_or(new_trace());
  made.span = new_span_id();
  return made;
}

}  // namespace omnirt::serve
