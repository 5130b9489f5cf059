#include "serve/file_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "serve/byte_range.hpp"

namespace omnirt::serve {
namespace {

constexpr const char* any_type = "application/octet-stream";

// "inline" for what a browser shows.
std::string disposition_of(const std::string& name, const std::string& type) {
  std::string plain = name;
  std::replace_if(
      plain.begin(), plain.end(),
      [](unsigned char each) { return each < ' ' || each >= 0x7f || each == '"' || each == '\\'; },
      '_');
  return fmt::format("{}; filename=\"{}\"", type == any_type ? "attachment" : "inline", plain);
}

// Whether an If-None-Match has the tag.
bool names(std::string_view list, const std::string& tag) {
  return list == "*" || list.find(tag) != std::string_view::npos;
}

// A part of a file other than the one that the client has begun with is no use to it.
std::optional<ByteRange> range_of(const HttpRequest& request, const std::string& tag,
                                  uint64_t size) {
  const std::string& same = request.header("if-range");
  if (request.method != "GET" || (!same.empty() && same != tag)) return std::nullopt;
  return read_byte_range(request.header("range"), size);
}

void answer_part(HttpResponse& response, const ByteRange& part, uint64_t size) {
  if (part.bytes == 0) {
    response.status = 416;
    response.type.clear();
    response.file = {};
    response.headers.emplace_back("Content-Range", fmt::format("bytes */{}", size));
    return;
  }
  response.status = 206;
  response.file.from = part.from;
  response.file.bytes = part.bytes;
  response.headers.emplace_back(
      "Content-Range", fmt::format("bytes {}-{}/{}", part.from, part.from + part.bytes - 1, size));
}

}  // namespace

const char* media_type_of_file(std::string_view name) {
  static constexpr auto types =
      std::to_array<std::pair<std::string_view, const char*>>({{".png", "image/png"},
                                                               {".jpg", "image/jpeg"},
                                                               {".jpeg", "image/jpeg"},
                                                               {".webp", "image/webp"},
                                                               {".gif", "image/gif"},
                                                               {".mp4", "video/mp4"}});
  for (const auto& [end, type] : types) {
    if (name.ends_with(end)) return type;
  }
  return any_type;
}

HttpResponse file_answer(const HttpRequest& request, const std::filesystem::path& path,
                         const std::string& tag) {
  auto file = std::make_shared<const io::OpenFile>(io::open_regular(path));
  const uint64_t size = file->bytes;
  const std::string name = path.filename().string();
  HttpResponse response{.type = media_type_of_file(name)};
  response.headers = {{"Content-Disposition", disposition_of(name, response.type)},
                      {"ETag", tag},
                      {"Accept-Ranges", "bytes"}};
  if (request.method != "POST" && names(request.header("if-none-match"), tag)) {
    response.status = 304;
    response.type.clear();
    return response;
  }
  response.file = {std::move(file), 0, size};
  if (auto part = range_of(request, tag, size)) answer_part(response, *part, size);
  return response;
}

}  // namespace omnirt::serve
