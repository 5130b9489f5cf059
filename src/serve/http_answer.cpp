#include "serve/http_answer.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/beast/http/status.hpp>

#include "base/error.hpp"

namespace omnirt::serve {
namespace {

bool has_no_length(int status) {
  return status == 204 || status == 304;
}

std::string status_line(int status) {
  const auto reason = boost::beast::http::obsolete_reason(
      boost::beast::http::int_to_status(static_cast<unsigned>(status)));
  return "HTTP/1.1 " + std::to_string(status) + " " + std::string(reason) + "\r\n";
}

std::string head_of(const HttpResponse& response, const HttpRequest& request, bool keep,
                    uint64_t bytes) {
  std::string head = status_line(response.status);
  auto set = [&](const std::string& name, const std::string& value) {
    head += name + ": " + value + "\r\n";
  };
  if (!response.type.empty()) set("Content-Type", response.type);
  set("X-Request-Id", request.id);
  set("X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : response.headers) set(name, value);
  if (!keep) set("Connection", "close");
  if (!has_no_length(response.status)) set("Content-Length", std::to_string(bytes));
  return head + "\r\n";
}

}  // namespace

bool has_valid_headers(const HttpResponse& response) {
  return is_header_value(response.type) &&
         std::all_of(response.headers.begin(), response.headers.end(), [](const auto& header) {
           return is_header_value(header.first) && is_header_value(header.second);
         });
}

HttpAnswer::HttpAnswer(HttpResponse response, const HttpRequest& request, bool keep)
    : response_(std::move(response)), keep_(keep) {
  bytes_ = response_.file.file ? response_.file.bytes : response_.body.size();
  head_ = head_of(response_, request, keep, bytes_);
  if (request.method != "HEAD" && !has_no_length(response_.status)) return;
  bytes_ = 0;
  response_.body = {};
}

std::string_view HttpAnswer::next() {
  const uint64_t bytes = std::min<uint64_t>(bytes_ - taken_, answer_piece_bytes);
  if (bytes == 0) return {};
  const std::string_view piece = response_.file.file
                                     ? next_of_file(bytes)
                                     : std::string_view(response_.body).substr(taken_, bytes);
  taken_ += piece.size();
  return piece;
}

std::string_view HttpAnswer::next_of_file(uint64_t bytes) {
  piece_.resize(bytes);
  const auto at = static_cast<off_t>(response_.file.from + taken_);
  const ssize_t read = ::pread(response_.file.file->fd.get(), piece_.data(), bytes, at);
  if (read <= 0) throw RunFailed("a file that is being sent cannot be read to its end");
  return std::string_view(piece_).substr(0, static_cast<size_t>(read));
}

}  // namespace omnirt::serve
