// YAML requests. The parser's events become JSON directly: yaml-cpp's own tree takes 250 bytes for
// each of a file's.
#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <vector>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "io/utf8.hpp"
#include "request/request.hpp"

namespace omnirt {
namespace {

// A request takes some 1 KB. Aliases make small files mean huge trees, so that their copies count.
constexpr size_t max_yaml_bytes = size_t{1} << 20;
constexpr size_t max_yaml_text = 4 * max_yaml_bytes;
constexpr size_t max_yaml_values = 100'000;

struct Size {
  size_t values = 1;
  size_t text = 0;  // bytes
  size_t depth = 0;
};

class YamlReader final : public YAML::EventHandler {
 public:
  explicit YamlReader(const std::string& where) : where_(where) {}
  Json take() { return std::move(document_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t anchor) override {
    if (awaits_key()) refuse("a key that is not a text");
    add(nullptr, {}, anchor);
  }
  void OnAlias(const YAML::Mark&, YAML::anchor_t anchor) override {
    if (awaits_key()) refuse("a key that is not a text");
    auto known = anchors_.find(anchor);
    if (known == anchors_.end()) refuse("an alias of a value that is not at its end");
    count(known->second.size);
    add(known->second.value, known->second.size, 0);
  }
  void OnScalar(const YAML::Mark&, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    count({.values = 1, .text = text.size(), .depth = 0});
    if (awaits_key()) return set_key(text);
    add(scalar(tag, text), {.values = 1, .text = text.size(), .depth = 0}, anchor);
  }
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    start(Json::array(), anchor);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    start(Json::object(), anchor);
  }
  void OnMapEnd() override { end(); }

 private:
  // A sequence or a map that is being read.
  struct Open {
    Json value;
    YAML::anchor_t anchor;
    Size size;
    std::set<std::string> keys;
    std::optional<std::string> key{};  // of the value that comes next
  };
  struct Anchored {
    Json value;
    Size size;
  };

  [[noreturn]] void refuse(const std::string& message) const {
    throw InvalidFile({where_, "", message, "shorten the request, or write it as JSON"});
  }
  bool awaits_key() const {
    return !open_.empty() && open_.back().value.is_object() && !open_.back().key;
  }

  void set_key(const std::string& key) {
    Open& map = open_.back();
    if (map.keys.size() == max_json_keys)
      refuse(fmt::format("more than {} keys in one map", max_json_keys));
    if (!map.keys.insert(key).second)
      refuse(fmt::format("the key '{}' is there twice", key.substr(0, 100)));
    map.key = key;
  }

  void count(const Size& size) {
    values_ += size.values;
    text_ += size.text;
    if (values_ > max_yaml_values) refuse(fmt::format("more than {} values", max_yaml_values));
    if (text_ > max_yaml_text)
      refuse(
          fmt::format("more than {} bytes of text, with what its aliases repeat", max_yaml_text));
  }

  void start(Json value, YAML::anchor_t anchor) {
    if (awaits_key()) refuse("a key that is not a text");
    count({});
    if (open_.size() >= max_json_depth) too_deep();
    open_.push_back({std::move(value), anchor, {}, {}});
  }
  void end() {
    Open done = std::move(open_.back());
    open_.pop_back();
    add(std::move(done.value), done.size, done.anchor);
  }

  // The value goes where it belongs: into the innermost container, or it is the document.
  void add(Json value, const Size& size, YAML::anchor_t anchor) {
    if (open_.size() + size.depth > max_json_depth) too_deep();
    if (anchor != 0) {
      count(size);  // of the copy
      anchors_[anchor] = {value, size};
    }
    if (open_.empty()) {
      document_ = std::move(value);
      return;
    }
    Open& outer = open_.back();
    outer.size.values += size.values;
    outer.size.text += size.text;
    outer.size.depth = std::max(outer.size.depth, size.depth + 1);
    if (outer.value.is_array()) {
      outer.value.push_back(std::move(value));
    } else {
      outer.value[*outer.key] = std::move(value);
      outer.key.reset();
    }
  }
  [[noreturn]] void too_deep() const {
    refuse(fmt::format("nested deeper than {} levels", max_json_depth));
  }

  // A plain scalar that JSON would read as a number, true, false or null is that; quoted ones are
  // texts.
  static Json scalar(const std::string& tag, const std::string& text) {
    if (tag == "!") return text;
    if (text.empty() || text == "~") return nullptr;
    return parse_scalar(text);
  }

  const std::string& where_;
  Json document_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  size_t values_ = 0, text_ = 0;
};

}  // namespace

namespace {

// The line that the parser stopped in, without spaces around it.
std::string line_of(const std::string& text, const YAML::Mark& mark) {
  std::istringstream lines(text);
  std::string line;
  for (int i = 0; i <= mark.line; ++i) std::getline(lines, line);
  size_t first = line.find_first_not_of(" \t\r"), last = line.find_last_not_of(" \t\r");
  return first == line.npos ? "" : line.substr(first, last - first + 1);
}

// What is read otherwise than it was meant is mostly a prompt without quotes.
InvalidFile not_yaml(const std::string& text, const std::string& where,
                     const YAML::Exception& error) {
  if (error.mark.is_null()) return InvalidFile({where, "", "not valid YAML: " + error.msg, ""});
  std::string line = line_of(text, error.mark);
  bool tab = text.starts_with('\t') || text.find("\n\t") != text.npos;
  return InvalidFile(
      {fmt::format("{}, line {}", where, error.mark.line + 1), line,
       fmt::format("not valid YAML at column {}: {}", error.mark.column + 1, error.msg),
       tab ? "indent with spaces, not tabs"
           : "put a text in quotes that holds ': ' or begins with one of [ ] { } & * ! | > ' \" % "
             "@ `, as in prompt: \"a cat: red\""});
}

}  // namespace

Json parse_yaml(const std::string& text, const std::string& where) {
  if (text.size() > max_yaml_bytes) {
    throw InvalidFile({where, fmt::format("{} bytes", text.size()),
                       fmt::format("larger than the limit of {} bytes for YAML", max_yaml_bytes),
                       "write it as JSON"});
  }
  // The parser takes any bytes for text.
  if (size_t bad = io::find_invalid_utf8(text); bad != std::string::npos) {
    throw InvalidFile({where, "", fmt::format("not UTF-8 at byte {}", bad), "save it as UTF-8"});
  }
  std::istringstream stream(text);
  YamlReader reader(where);
  try {
    YAML::Parser(stream).HandleNextDocument(reader);
  } catch (const YAML::Exception& error) {
    throw not_yaml(text, where, error);
  }
  return reader.take();
}

}  // namespace omnirt
