#include "serve/webui_image.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "io/image.hpp"
#include "serve/base64.hpp"
#include "serve/request_files.hpp"

namespace omnirt::serve {
namespace {

constexpr std::string_view negative = "Negative prompt: ";

std::string trimmed(const std::string& text) {
  const size_t from = text.find_first_not_of(" \t\r\n");
  if (from == std::string::npos) return "";
  return text.substr(from, text.find_last_not_of(" \t\r\n") - from + 1);
}

// The end of a value that begins at `at`: of one in quotes behind them, else the next comma.
size_t end_of_value(const std::string& line, size_t at) {
  if (at < line.size() && line[at] == '"') {
    for (size_t i = at + 1; i < line.size(); ++i) {
      if (line[i] == '\\')
        ++i;
      else if (line[i] == '"')
        return i + 1;
    }
  }
  return std::min(line.find(',', at), line.size());
}

std::string unquoted(const std::string& value) {
  if (value.size() < 2 || value.front() != '"' || value.back() != '"') return value;
  try {
    const Json json = parse_json(value, "the parameters");
    return json.is_string() ? json.get<std::string>() : value;
  } catch (const InvalidFile&) {
    return value;
  }
}

// "Steps: 20, Sampler: Euler a, ...".
void read_settings(const std::string& line, Json& into) {
  for (size_t at = 0; at < line.size();) {
    const size_t colon = line.find(": ", at);
    if (colon == std::string::npos) return;
    const size_t end = end_of_value(line, colon + 2);
    into[trimmed(line.substr(at, colon - at))] =
        unquoted(trimmed(line.substr(colon + 2, end - colon - 2)));
    at = end + 1;
  }
}

std::string without_header(const std::string& text) {
  const size_t comma = text.find(',');
  return text.starts_with("data:") && comma != std::string::npos ? text.substr(comma + 1) : text;
}

}  // namespace

std::string webui_image_bytes(const std::string& text, const std::string& field) {
  if (text.starts_with("http://") || text.starts_with("https://"))
    throw InvalidRequest({field, text.substr(0, 100), "nothing is read from the network",
                          "send the image itself, in base64"});
  auto bytes = bytes_of_base64(without_header(text));
  if (bytes) return std::move(*bytes);
  throw InvalidRequest({field, std::to_string(text.size()) + " characters", "is no base64",
                        "send an image in base64"});
}

Json webui_image_input(const std::string& text) {
  return {{"data", without_header(text)}};
}

Json webui_mask_input(const std::string& text, bool invert) {
  if (!invert) return webui_image_input(text);
  const std::string bytes = webui_image_bytes(text, "mask");
  const io::ReadOptions options{.limits = sent_image_limits};
  io::Image mask = io::to_grey(io::decode_image(bytes, "mask", options));
  for (uint8_t& each : mask.pixels) each = static_cast<uint8_t>(255 - each);
  return {{"data", base64_of(io::encode_image(mask, io::ImageFormat::png))}};
}

Json read_parameters_text(const std::string& text) {
  Json read = Json::object();
  const size_t last = text.rfind('\n');
  std::string above = text, line;
  if (last != std::string::npos) line = text.substr(last + 1);
  if (last == std::string::npos && text.starts_with("Steps: ")) line = text;
  if (line.find("Steps: ") != std::string::npos)
    above = last == std::string::npos ? "" : text.substr(0, last);
  else
    line.clear();
  size_t at = above.starts_with(negative) ? 0 : above.find("\n" + std::string(negative));
  if (at != std::string::npos && at > 0) ++at;
  read["Prompt"] = trimmed(above.substr(0, at));
  read["Negative prompt"] =
      at == std::string::npos ? "" : trimmed(above.substr(at + negative.size()));
  read_settings(line, read);
  return read;
}

Json webui_image_info(const std::string& text) {
  const std::string bytes = webui_image_bytes(text, "image");
  const io::ReadOptions options{.limits = sent_image_limits};
  io::probe_image_bytes(bytes, "image", options);  // throws where it is none
  const io::ImageMetadata metadata = io::image_metadata(bytes, "image");
  Json items = Json::object();
  for (const auto& [key, value] : metadata) items[key] = value;
  auto it = metadata.find(io::parameters_metadata_key);
  const std::string info = it == metadata.end() ? "" : it->second;
  return {{"info", info},
          {"items", items},
          {"parameters", info.empty() ? Json::object() : read_parameters_text(info)}};
}

}  // namespace omnirt::serve
