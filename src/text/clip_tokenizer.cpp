#include "text/clip_tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/ensure.hpp"
#include "base/path_text.hpp"
#include "text/clip_text.hpp"
#include "text/prompt_text.hpp"
#include "text/special_tokens.hpp"
#include "text/unicode.hpp"

namespace omnirt::text {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view suffix = "</w>";

const SpecialRules& special_rules() {
  static const SpecialRules rules{.whose = "CLIP's tokenizer",
                                  .defaults = {{"bos_token", "<|startoftext|>"},
                                               {"eos_token", "<|endoftext|>"},
                                               {"unk_token", "<|endoftext|>"},
                                               {"pad_token", "<|endoftext|>"}},
                                  .required = {"bos_token", "eos_token", "pad_token"}};
  return rules;
}

}  // namespace

CLIPTokenizer CLIPTokenizer::from_folder(const fs::path& folder, const Json& config) {
  BpeFiles files = read_bpe_folder(folder, "a CLIP tokenizer");
  TokenizerSettings settings{path_text(folder), config, {}, {}};
  if (!config.is_object()) settings = read_tokenizer_settings(folder);
  SpecialTokens specials = read_special_tokens(special_rules(), settings, files.added_tokens);
  ByteLevelBpe bpe(std::move(files), specials.unk.value_or(""),
                   {clip_normalize, clip_words, suffix});

  std::string where = path_text(folder / "tokenizer_config.json");
  bpe.add_tokens(specials.tokens, where);
  CLIPTokenizer tokenizer(std::move(bpe));
  tokenizer.window_ = specials.window;
  tokenizer.bos_ = tokenizer.bpe_.named_id("bos_token", *specials.bos, where);
  tokenizer.eos_ = tokenizer.bpe_.named_id("eos_token", *specials.eos, where);
  tokenizer.pad_ = tokenizer.bpe_.named_id("pad_token", *specials.pad, where);
  return tokenizer;
}

std::shared_ptr<const Tokenizer> CLIPTokenizer::with_tokens(
    const std::vector<TokenVectors>& added) const {
  auto extended = std::make_shared<CLIPTokenizer>(*this);
  for (const TokenVectors& token : added) {
    auto id = static_cast<int32_t>(token.first_id);
    extended->bpe_.add_alias(token.content, id);
    if (token.vectors > 1) extended->vectors_[id] = token.vectors;
    // Each further vector is a token too, as the reference names them.
    for (int32_t i = 1; i < token.vectors; ++i)
      extended->bpe_.add_alias(fmt::format("{}_{}", token.content, i), id + i);
  }
  return extended;
}

bool CLIPTokenizer::has_token(std::string_view token) const {
  return bpe_.vocabulary().find(token) >= 0;
}

std::string_view CLIPTokenizer::token(int64_t id) const {
  const std::string* found = bpe_.vocabulary().token(id);
  return found ? std::string_view(*found) : std::string_view();
}

// A token with several vectors is followed by their ids.
std::vector<ByteLevelBpe::Token> CLIPTokenizer::tokens(std::string_view text,
                                                       std::string_view field) const {
  check_prompt(text, field);
  std::vector<ByteLevelBpe::Token> found = bpe_.tokens(text);
  if (vectors_.empty()) return found;
  std::vector<ByteLevelBpe::Token> all;
  for (const ByteLevelBpe::Token& token : found) {
    all.push_back(token);
    auto several = vectors_.find(token.id);
    if (several == vectors_.end()) continue;
    for (int64_t i = 1; i < several->second; ++i) {
      all.push_back(token);
      all.back().id += i;
    }
  }
  return all;
}

std::vector<int64_t> CLIPTokenizer::encode_words(std::string_view text,
                                                 std::string_view field) const {
  std::vector<int64_t> ids;
  for (const ByteLevelBpe::Token& token : tokens(text, field)) ids.push_back(token.id);
  return ids;
}

TokenizedPrompt CLIPTokenizer::encode(std::string_view text, std::string_view field,
                                      int64_t length) const {
  ensure(length >= 2, "{} ids leave no room for the start and the end", length);
  std::vector<ByteLevelBpe::Token> found = tokens(text, field);
  size_t room = static_cast<size_t>(length) - 2;
  TokenizedPrompt result;
  result.ids.reserve(static_cast<size_t>(length));
  result.ids.push_back(bos_);
  for (size_t i = 0; i < std::min(room, found.size()); ++i) result.ids.push_back(found[i].id);
  result.ids.push_back(eos_);
  result.used = static_cast<int64_t>(result.ids.size());
  result.ids.resize(static_cast<size_t>(length), pad_);
  if (found.size() > room)
    result.cut = without_space(text.substr(bpe_.begin_of(found[room], text)));
  return result;
}

std::string CLIPTokenizer::decode(std::span<const int64_t> ids) const {
  static const std::unordered_map<std::string_view, unsigned char> bytes = [] {
    std::unordered_map<std::string_view, unsigned char> map;
    for (size_t byte = 0; byte < 256; ++byte) {
      map[byte_symbols()[byte]] = static_cast<unsigned char>(byte);
    }
    return map;
  }();
  std::string raw;
  for (int64_t id : ids) {
    const std::string* token = bpe_.vocabulary().token(id);
    if (!token) continue;
    std::string decoded;
    bool whole = true;
    for (size_t pos = 0; whole && pos < token->size();) {
      size_t begin = pos;
      next_codepoint(*token, pos);
      auto byte = bytes.find(std::string_view(*token).substr(begin, pos - begin));
      whole = byte != bytes.end();
      if (whole) decoded += static_cast<char>(byte->second);
    }
    // A token that is no run of byte symbols is text as it is.
    raw += whole ? decoded : *token;
  }
  std::string text = lossy_utf8(raw), spaced;
  for (std::string_view rest = text; !rest.empty();) {
    size_t end = rest.find(suffix);
    spaced += rest.substr(0, end);
    if (end == rest.npos) break;
    spaced += ' ';
    rest.remove_prefix(end + suffix.size());
  }
  return std::string(without_space(spaced));
}

TokenizerInfo clip_tokenizer_info() {
  return {.class_names = {"CLIPTokenizer", "CLIPTokenizerFast"},
          .make =
              [](const fs::path& folder, const Json& config) {
                return std::make_shared<const CLIPTokenizer>(
                    CLIPTokenizer::from_folder(folder, config));
              },
          .summary = "CLIP's byte-pair tokenizer"};
}

}  // namespace omnirt::text
