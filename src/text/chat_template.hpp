#pragma once
#include <filesystem>
#include <string>

#include "base/json.hpp"

namespace omnirt::text {

// Whether the model that answers would think first, as templates that know of it ask it to.
enum class Thinking { off, on };

// How a conversation of one message is written out for a model that answers: what comes before the
// user's words, and after them. Templates are programs of a language (Jinja) that is not run here;
// the kinds that are known are those of Qwen's models, recognised by what they write.
struct ChatTemplate {
  enum class Kind {
    thinking_off,  // ends in an empty thought: Qwen3's with enable_thinking=False
    plain,         // without thoughts: Qwen3's later models that only answer, ChatML
    absent,        // the folder has none; Qwen3's is taken
    unknown        // of another kind; Qwen3's is taken
  };
  Kind kind = Kind::absent;
  std::string where;  // the file that holds it

  // "<|im_start|>user\n".
  std::string before() const;
  // "<|im_end|>\n<|im_start|>assistant\n", and where it must not think, except for `plain`, an
  // empty thought: "<think>\n\n</think>\n\n".
  std::string after(Thinking thinking) const;
};

// A folder's template as it stands; no file ("") where there is none. Of chat_template.jinja, or
// else chat_template.json or `config`'s (tokenizer_config.json) chat_template. Throws InvalidFile
// where one is no text, or larger than 256 KiB.
struct TemplateText {
  std::string text, where;
};
TemplateText read_template_text(const std::filesystem::path& folder, const Json& config);

// What kind a tokenizer's folder has. Throws as read_template_text does.
ChatTemplate read_chat_template(const std::filesystem::path& folder, const Json& config);

}  // namespace omnirt::text
