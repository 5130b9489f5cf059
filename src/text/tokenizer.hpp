#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace omnirt::text {

// A prompt may not be larger than this; far above any window, low enough to stay cheap.
inline constexpr size_t max_prompt_bytes = size_t{1} << 20;

struct TokenizedPrompt {
  std::vector<int64_t> ids;  // window() of them, padding included
  int64_t used = 0;          // how many of them come before the padding
  std::string cut;           // what did not fit, in the prompt's own words; empty when all fits
};

// What turns a prompt into the ids that a text encoder takes. Const use from several threads at
// once is safe.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // `field` is the request field that `text` came from; it names it in errors.
  // Throws InvalidRequest when `text` is not UTF-8 (with the byte's offset) or larger than
  // max_prompt_bytes.
  virtual TokenizedPrompt encode(std::string_view text, std::string_view field) const = 0;
  TokenizedPrompt encode(std::string_view text) const { return encode(text, "prompt"); }

  // The number of ids that `encode` gives.
  virtual int64_t window() const = 0;

  // One past the largest id: the rows that the text encoder's embedding table needs.
  virtual int64_t vocab_size() const = 0;
};

}  // namespace omnirt::text
