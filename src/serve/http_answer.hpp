#pragma once
#include <string>
#include <string_view>

#include "serve/http.hpp"

namespace omnirt::serve {

// Of an answer: what is written at a time, and has HttpLimits::write_seconds to be taken.
inline constexpr size_t answer_piece_bytes = size_t{64} << 10;

// Whether each header may stand in an answer.
bool has_valid_headers(const HttpResponse& response);

// An answer as it is written: its head, then its body in pieces.
class HttpAnswer {
 public:
  // Takes the response, whose headers are valid. An answer to HEAD has the length of its body, and
  // no body.
  HttpAnswer(HttpResponse response, const HttpRequest& request, bool keep);

  int status() const { return response_.status; }
  bool keep() const { return keep_; }
  const std::string& head() const { return head_; }
  // The bytes that it holds in memory.
  size_t held() const { return response_.body.size(); }
  // The piece that comes next, or "" after the last. It stays valid until the next call. Throws
  // RunFailed for a file that cannot be read or is shorter than it was.
  std::string_view next();

 private:
  std::string_view next_of_file(uint64_t bytes);

  HttpResponse response_;
  std::string head_;
  bool keep_;
  uint64_t bytes_ = 0, taken_ = 0;  // of the body
  std::string piece_;
};

}  // namespace omnirt::serve
