#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <iostream>
#include <iterator>

#include "base/error.hpp"
#include "io/file.hpp"
#include "pipeline/request.hpp"

namespace omnirt {
namespace {

constexpr size_t max_request_bytes = size_t{4} << 20;
constexpr size_t max_yaml_nodes = 100'000;

// YAML's aliases make small files mean huge trees, so what is read is counted.
class YamlReader {
 public:
  explicit YamlReader(std::string where) : where_(std::move(where)) {}

  Json read(const YAML::Node& node, size_t depth) {
    if (depth > max_json_depth) refuse(fmt::format("nested deeper than {} levels", max_json_depth));
    if (++nodes_ > max_yaml_nodes) refuse(fmt::format("more than {} values", max_yaml_nodes));
    if (node.IsSequence()) return sequence(node, depth);
    if (node.IsMap()) return map(node, depth);
    return node.IsScalar() ? scalar(node) : Json(nullptr);
  }

 private:
  [[noreturn]] void refuse(const std::string& message) const {
    throw InvalidFile({where_, "", message, ""});
  }

  Json sequence(const YAML::Node& node, size_t depth) {
    Json json = Json::array();
    for (const auto& item : node) json.push_back(read(item, depth + 1));
    return json;
  }

  Json map(const YAML::Node& node, size_t depth) {
    Json json = Json::object();
    for (const auto& item : node) {
      if (!item.first.IsScalar()) refuse("a key that is not a text");
      std::string key = item.first.Scalar();
      if (json.contains(key)) refuse("the key '" + key + "' is there twice");
      json[key] = read(item.second, depth + 1);
    }
    return json;
  }

  // A plain scalar that JSON would read as a number, true, false or null is that; quoted ones are
  // texts.
  static Json scalar(const YAML::Node& node) {
    const std::string& text = node.Scalar();
    if (node.Tag() == "!") return text;
    if (text.empty() || text == "~" || text == "null") return nullptr;
    Json value = Json::parse(text, nullptr, false);
    return value.is_number() || value.is_boolean() ? value : Json(text);
  }

  std::string where_;
  size_t nodes_ = 0;
};

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

Json parse_yaml(const std::string& text, const std::string& where) {
  try {
    return YamlReader(where).read(YAML::Load(text), 0);
  } catch (const YAML::Exception& error) {
    throw InvalidFile({where, "", std::string("not valid YAML: ") + error.what(), ""});
  }
}

Json load_document(const std::string& path) {
  std::string where = path == "-" ? "standard input" : path;
  std::string text = path == "-" ? read_standard_input() : io::read_file(path, max_request_bytes);
  return looks_like_json(text) ? parse_json(text, where, max_request_bytes)
                               : parse_yaml(text, where);
}

GenerateRequest load_request(const std::string& path) {
  return parse_request(load_document(path));
}

}  // namespace omnirt
