#include <fmt/format.h>

#include <iostream>
#include <iterator>

#include "base/error.hpp"
#include "io/carried_text.hpp"
#include "io/file.hpp"
#include "io/image.hpp"
#include "request/request_text.hpp"
#include "request/web_address.hpp"

namespace omnirt {
namespace {

bool looks_like_json(const std::string& text) {
  size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && (text[first] == '{' || text[first] == '[');
}

std::string read_standard_input() {
  std::string text;
  char buffer[65536];
  while (std::cin.read(buffer, sizeof buffer) || std::cin.gcount() > 0) {
    text.append(buffer, static_cast<size_t>(std::cin.gcount()));
    if (text.size() > max_request_bytes) {
      throw InvalidFile(
          {"standard input", "", fmt::format("larger than {} bytes", max_request_bytes), ""});
    }
  }
  return text;
}

}  // namespace

GenerateRequest parse_request_text(std::string_view json, const std::string& where) {
  return parse_request(parse_json(json, where, max_request_bytes));
}

Json load_document(const std::string& path) {
  std::string where = path == "-" ? "standard input" : path;
  std::string text = path == "-" ? read_standard_input() : io::read_file(path, max_request_bytes);
  return looks_like_json(text) ? parse_json(text, where, max_request_bytes)
                               : parse_yaml(text, where);
}

namespace {

Json load_carried(const std::string& path, const io::CarriedText& carried) {
  if (carried.text) return parse_json(*carried.text, path, io::max_metadata_bytes);
  throw InvalidFile({path, carried.kind, "it carries no request of this program",
                     carried.parameters
                         ? "it carries generation parameters, which `omnirt inspect` shows"
                         : "images carry one unless they were made with metadata none, or "
                           "written again by another program"});
}

}  // namespace

GenerateRequest load_request(const std::string& path) {
  refuse_url("request", path);
  auto carried = path == "-" ? std::nullopt : io::read_carried_text(path);
  GenerateRequest request =
      parse_request(carried ? load_carried(path, *carried) : load_document(path));
  std::error_code error;
  if (path != "-") request.folder = std::filesystem::absolute(path, error).parent_path().native();
  return request;
}

}  // namespace omnirt
