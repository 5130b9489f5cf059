#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "text/added_tokens.hpp"

namespace omnirt::text {

// What a tokenizer folder says beside vocabulary and merges.
struct ClipSpecials {
  int64_t window = 0;
  std::string bos, eos, pad;
  std::optional<std::string> unk;
  std::vector<AddedToken> tokens;  // what is found as a whole; a later one replaces an earlier one
};

// The folder's JSON files; null for one that is not there. `folder` names them in errors.
struct ClipSettings {
  std::string folder;
  Json config;              // tokenizer_config.json
  Json special_tokens_map;  // special_tokens_map.json, of older folders
  Json added_tokens;        // added_tokens.json, of older folders
};

// Merges the sources as transformers 5 does (tokenization_utils_base.py, _from_pretrained, and
// tokenization_utils_tokenizers.py, __init__): added_tokens_decoder in the config makes the other
// sources of added tokens count for nothing; every named special token is an added token too, so a
// pad_token "!" takes each "!" of a prompt out of its word.
// `from_tokenizer_json` are the added tokens of tokenizer.json.
// Throws InvalidFile for what is malformed or missing, Unsupported for settings that would change
// the ids and are not known here (padding or truncation on the left, split_special_tokens).
ClipSpecials read_clip_specials(const ClipSettings& settings,
                                const std::vector<AddedToken>& from_tokenizer_json);

}  // namespace omnirt::text
