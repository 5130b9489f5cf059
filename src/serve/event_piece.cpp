#include "serve/event_piece.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace omnirt::serve {
namespace {

// A line end in an event's texts would begin another field of the stream.
bool ends_line(char each) {
  return each == '\n' || each == '\r';
}

}  // namespace

std::string event_piece(int64_t number, std::string type, std::string_view data) {
  std::erase_if(type, ends_line);
  std::string piece = fmt::format("id: {}\nevent: {}\n", number, type);
  for (;;) {
    const size_t end = std::min(data.find_first_of("\r\n"), data.size());
    piece += fmt::format("data: {}\n", data.substr(0, end));
    if (end == data.size()) return piece + "\n";
    data.remove_prefix(end + (data.substr(end).starts_with("\r\n") ? 2 : 1));
  }
}

}  // namespace omnirt::serve
