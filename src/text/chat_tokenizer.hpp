#pragma once
#include <string>

#include "text/tokenizer.hpp"

namespace omnirt::text {

// A tokenizer that writes a conversation out as its folder's template says.
class ChatTokenizer : public Tokenizer {
 public:
  // The file of a template of a kind that is not known, for which the usual one stands in; or "".
  virtual std::string unknown_template() const = 0;
  // Whose template the usual one is: "Qwen3".
  virtual std::string usual_template() const = 0;
};

}  // namespace omnirt::text
