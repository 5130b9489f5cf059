#include "serve/job_names.hpp"

#include <algorithm>

#include "base/printable.hpp"

namespace omnirt::serve {
namespace {

constexpr size_t id_digits = 32, max_name_bytes = 255, max_shown_bytes = 100;

bool is_hex(char each) {
  return (each >= '0' && each <= '9') || (each >= 'a' && each <= 'f');
}

bool is_control(char each) {
  return static_cast<unsigned char>(each) < ' ' || each == 0x7f;
}

}  // namespace

bool is_job_id(std::string_view text) {
  return text.size() == id_digits && std::ranges::all_of(text, is_hex);
}

bool is_file_name(std::string_view text) {
  return !text.empty() && text.size() <= max_name_bytes && text.front() != '.' &&
         text.find_first_of("/\\\"") == std::string_view::npos &&
         std::ranges::none_of(text, is_control);
}

std::string shown_name(std::string_view text) {
  return printable(text.substr(0, max_shown_bytes));
}

}  // namespace omnirt::serve
