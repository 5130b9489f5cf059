#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"

namespace omnirt::text {

// A prompt may not be larger than this; far above any window, low enough to stay cheap.
inline constexpr size_t max_prompt_bytes = size_t{1} << 20;

struct TokenizedPrompt {
  std::vector<int64_t> ids;  // as many as were asked for, padding included
  int64_t used = 0;          // how many of them are the text's
  int64_t first = 0;         // where the text's begin: after the padding, if that comes first
  std::string cut;           // what did not fit, in the prompt's own words; empty when all fits
};

// A token that an adapter brings, with the ids of its vectors: first_id and those after it.
struct TokenVectors {
  std::string content;
  int64_t first_id = 0;
  int64_t vectors = 1;
};

// What turns a prompt into the ids that a text encoder takes. Const use from several threads at
// once is safe.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // `length` ids, padding included; it must leave room for the tokens that enclose every text.
  // `field` is the request field that `text` came from; it names it in errors.
  // Throws InvalidRequest when `text` is not UTF-8 (with the byte's offset) or larger than
  // max_prompt_bytes.
  virtual TokenizedPrompt encode(std::string_view text, std::string_view field,
                                 int64_t length) const = 0;
  TokenizedPrompt encode(std::string_view text, std::string_view field = "prompt") const {
    return encode(text, field, window());
  }

  // The number of ids that `encode` returns where no other is asked for.
  virtual int64_t window() const = 0;

  // One past the largest id: the rows that the text encoder's embedding table needs. Tokens of
  // with_tokens are not counted: they bring their rows along.
  virtual int64_t vocab_size() const = 0;

  // The same tokenizer with more tokens; null where it takes none.
  virtual std::shared_ptr<const Tokenizer> with_tokens(const std::vector<TokenVectors>&) const {
    return nullptr;
  }
  // Whether the vocabulary has a token of just this content.
  virtual bool has_token(std::string_view) const { return false; }
  // A token's content, in CLIP's vocabulary with </w> where a word ends; empty where there is none,
  // or the tokenizer has none.
  virtual std::string_view token(int64_t /*id*/) const { return {}; }
};

// A tokenizer class as the catalogue lists it.
struct TokenizerInfo {
  std::vector<std::string> class_names;  // as model_index.json and tokenizer_config.json name it
  // An object `config` replaces the folder's own tokenizer_config.json. Throws InvalidFile or
  // Unsupported, naming the file.
  std::function<std::shared_ptr<const Tokenizer>(const std::filesystem::path& folder,
                                                 const Json& config)>
      make;
  std::string summary;
};

}  // namespace omnirt::text
