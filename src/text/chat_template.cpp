#include "text/chat_template.hpp"

#include <array>
#include <string_view>

#include "base/error.hpp"
#include "base/path_text.hpp"
#include "io/file.hpp"

namespace omnirt::text {
namespace {

namespace fs = std::filesystem;

constexpr size_t max_template_bytes = size_t{256} << 10;  // real ones: 4 to 12 KB

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

// The message of a user, as the templates of Qwen's models write it.
bool writes_messages(std::string_view text) {
  constexpr std::array<std::string_view, 2> messages = {
      R"('<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n')",
      R"('<|im_start|>' + message.role + '\n' + content + '<|im_end|>' + '\n')"};
  return has(text, messages[0]) || has(text, messages[1]);
}

// Whether a conversation without words of the system begins with some of the template's own, as
// Qwen2.5's does.
bool has_system_words(std::string_view text) {
  return has(text, R"(<|im_start|>system\nYou are)") || has(text, "'You are ");
}

ChatTemplate::Kind kind_of(std::string_view text) {
  using Kind = ChatTemplate::Kind;
  if (!writes_messages(text) || has_system_words(text) ||
      !has(text, R"('<|im_start|>assistant\n')"))
    return Kind::unknown;
  if (!has(text, "enable_thinking")) return Kind::plain;
  bool known = has(text, "enable_thinking is false") && has(text, R"('<think>\n\n</think>\n\n')");
  return known ? Kind::thinking_off : Kind::unknown;
}

// A template as settings have it: a text, or a list of those with names.
const Json& template_in(const Json& config) {
  static const Json none;
  if (!config.is_object() || !config.contains("chat_template")) return none;
  const Json& given = config["chat_template"];
  if (!given.is_array()) return given;
  for (const Json& each : given) {
    if (each.is_object() && each.contains("template") && each.value("name", Json()) == "default")
      return each["template"];
  }
  return none;
}

}  // namespace

std::string ChatTemplate::before() const {
  return "<|im_start|>user\n";
}

std::string ChatTemplate::after(Thinking thinking) const {
  std::string turn = "<|im_end|>\n<|im_start|>assistant\n";
  bool bare = kind == Kind::plain || thinking == Thinking::on;
  return bare ? turn : turn + "<think>\n\n</think>\n\n";
}

TemplateText read_template_text(const fs::path& folder, const Json& config) {
  auto present = [](const fs::path& file) {
    std::error_code error;
    return fs::symlink_status(file, error).type() != fs::file_type::not_found && !error;
  };
  fs::path file = folder / "chat_template.jinja";
  if (present(file)) return {io::read_file(file, max_template_bytes), path_text(file)};
  fs::path json = folder / "chat_template.json";  // of older processors' folders
  std::string where = path_text(present(json) ? json : folder / "tokenizer_config.json");
  const Json of_processor = present(json) ? io::read_json(json, max_template_bytes) : Json();
  const Json& given = template_in(of_processor.is_null() ? config : of_processor);
  if (given.is_null()) return {};
  if (!given.is_string())
    throw InvalidFile({where + ".chat_template", shown(given), "a text is expected", ""});
  return {given.get<std::string>(), where};
}

ChatTemplate read_chat_template(const fs::path& folder, const Json& config) {
  TemplateText found = read_template_text(folder, config);
  if (found.where.empty()) return {};
  return {kind_of(found.text), found.where};
}

}  // namespace omnirt::text
