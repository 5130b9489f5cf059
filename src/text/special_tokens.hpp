#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "text/added_tokens.hpp"

namespace omnirt::text {

// A window may not be larger: what a tokenizer's folder asks for when no one else says a length.
inline constexpr int64_t max_window = 65536;

// What a tokenizer folder says in addition to vocabulary and merges.
struct SpecialTokens {
  int64_t window = 0;
  std::optional<std::string> bos, eos, pad, unk;
  std::vector<AddedToken> tokens;  // what is found as a whole; a later one replaces an earlier one
  bool pads_in_front = false;
};

// The folder's JSON files; null for one that is not there. `folder` names them in errors.
struct TokenizerSettings {
  std::string folder;
  Json config;              // tokenizer_config.json
  Json special_tokens_map;  // special_tokens_map.json, of older folders
  Json added_tokens;        // added_tokens.json, of older folders
};
// Reads the files that are there.
TokenizerSettings read_tokenizer_settings(const std::filesystem::path& folder);

// What differs between classes of tokenizers.
struct SpecialRules {
  std::string whose;                              // "CLIP's tokenizer"
  std::map<std::string, std::string> defaults{};  // the class's own: {"eos_token", "<|endoftext|>"}
  std::vector<std::string> required{};            // those without which it cannot work
  std::vector<std::string> only_false{};          // settings of which only false is known
  bool may_pad_in_front = false;
  std::vector<std::string> other_tokens{};  // that the settings may name in addition
  // The window of a folder that names none, and of one that names more than max_window; 0: such
  // folders are refused.
  int64_t usual_window = 0;
};

// Merges the sources as transformers 5 does (tokenization_utils_base.py, _from_pretrained, and
// tokenization_utils_tokenizers.py, __init__): added_tokens_decoder in the config makes the other
// sources of added tokens count for nothing; every named special token is an added token too, so a
// pad_token "!" takes each "!" of a prompt out of its word.
// `from_tokenizer_json` are the added tokens of tokenizer.json.
// Throws InvalidFile for what is malformed or missing, Unsupported for settings that would change
// the ids and are not known here (truncation on the left, split_special_tokens).
SpecialTokens read_special_tokens(const SpecialRules& rules, const TokenizerSettings& settings,
                                  const std::vector<AddedToken>& from_tokenizer_json);

}  // namespace omnirt::text
