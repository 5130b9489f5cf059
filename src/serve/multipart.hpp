#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace omnirt::serve {

struct Part {
  std::string name;
  std::string_view bytes;  // of the body that was read
};

inline constexpr size_t max_parts = 64;
inline constexpr size_t max_part_header_bytes = 4096;

// "application/json" of the Content-Type "Application/JSON; charset=utf-8".
std::string media_type(std::string_view content_type);
// The boundary of a Content-Type "multipart/form-data; boundary=...". Throws InvalidRequest.
std::string boundary_of(std::string_view content_type);

// The parts of a multipart/form-data body (RFC 7578). File names and types are not looked at.
// Throws InvalidRequest where it is cut short, has no names, one twice (but "name[]", of lists, and
// `repeated`), or breaks a limit.
std::vector<Part> read_multipart(std::string_view body, std::string_view boundary,
                                 std::string_view repeated = "");

}  // namespace omnirt::serve
