#include "text/byte_level_bpe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "base/path_text.hpp"
#include "io/file.hpp"
#include "text/character_bpe.hpp"

namespace omnirt::text {
namespace {

namespace fs = std::filesystem;

// Real ones: tokenizer.json 3.6 MB (CLIP) to 34.4 MB (Gemma), vocab.json 1 to 2.8 MB, merges.txt
// 0.5 to 1.7 MB.
constexpr size_t max_model_bytes = size_t{64} << 20;

bool present(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() != fs::file_type::not_found && !error;
}

std::shared_ptr<const BpeEncoder> make_bpe(const BpeFiles& files, const std::string& unknown,
                                           const ByteLevelBpe::Rules& rules) {
  int32_t id = unknown.empty() ? -1 : files.vocabulary.find(unknown);
  if (rules.characters)
    return std::make_shared<CharacterBpe>(files.vocabulary, files.merges, id,
                                          files.vocabulary_file);
  return std::make_shared<Bpe>(files.vocabulary, files.merges, id, files.vocabulary_file,
                               files.merges_file, rules.suffix);
}

}  // namespace

BpeFiles read_bpe_folder(const fs::path& folder, const std::string& whose) {
  fs::path whole = folder / "tokenizer.json";
  if (present(whole)) {
    return parse_tokenizer_json(io::read_file(whole, max_model_bytes), path_text(whole));
  }
  fs::path vocab = folder / "vocab.json", merges = folder / "merges.txt";
  for (const fs::path& path : {vocab, merges}) {
    if (!present(path)) {
      throw InvalidFile({path_text(path), "", "not found, and there is no tokenizer.json either",
                         whose + "'s folder holds tokenizer.json, or vocab.json and merges.txt"});
    }
  }
  BpeFiles files;
  files.vocabulary = parse_vocab_json(io::read_file(vocab, max_model_bytes), path_text(vocab));
  files.merges = parse_merges_txt(io::read_file(merges, max_model_bytes), path_text(merges));
  files.vocabulary_file = path_text(vocab);
  files.merges_file = path_text(merges);
  return files;
}

ByteLevelBpe::ByteLevelBpe(BpeFiles files, const std::string& unknown, const Rules& rules)
    : bpe_(make_bpe(files, unknown, rules)), rules_(rules) {
  vocabulary_ = std::make_shared<Vocabulary>(std::move(files.vocabulary));
}

int64_t ByteLevelBpe::named_id(const char* name, const std::string& token,
                               const std::string& where) const {
  int32_t id = vocabulary_->find(token);
  if (id >= 0) return id;
  throw InvalidFile({where, fmt::format("{}: \"{}\"", name, token), "not in the vocabulary",
                     "name a token that it has"});
}

void ByteLevelBpe::add_tokens(const std::vector<AddedToken>& tokens, const std::string& where) {
  std::map<std::string, const AddedToken*> last;
  for (const AddedToken& token : tokens) last[token.content] = &token;
  auto next = static_cast<int64_t>(vocabulary_->count());
  for (const AddedToken& token : tokens) {
    auto entry = last.extract(token.content);
    if (entry.empty() || token.content.empty()) continue;
    bool is_new = vocabulary_->find(token.content) < 0;
    if (is_new && !entry.mapped()->id) named_id("special token", token.content, where);  // throws
    add_token(*entry.mapped(), next, where);
    next += is_new;
  }
}

void ByteLevelBpe::add_token(const AddedToken& token, int64_t next, const std::string& where) {
  int64_t id = vocabulary_->find(token.content);
  if (id < 0) vocabulary_->add(token.content, id = next, where);
  if (token.id && *token.id != id) {
    // The reference goes by the vocabulary and the order, older versions of it by what is declared.
    throw InvalidFile(
        {where, fmt::format("\"{}\": {}", token.content, *token.id),
         fmt::format("an added token with this id would have id {} by the vocabulary", id),
         "let the two agree"});
  }
  auto known = static_cast<int32_t>(id);
  if (token.in_normalized_text()) {
    add_alias(token.content, known);
  } else {
    in_given_text_.add(token.content, known);
  }
}

void ByteLevelBpe::add_alias(std::string_view content, int32_t id) {
  in_normalized_text_.add(rules_.normalize(content), id);
}

int32_t ByteLevelBpe::whole_word(std::string_view word) const {
  if (!rules_.whole_words) return -1;
  std::string symbols;
  for (char byte : word) symbols += byte_symbols()[static_cast<unsigned char>(byte)];
  return vocabulary_->find(symbols);
}

void ByteLevelBpe::append_words(std::string_view normalized, Token from,
                                std::vector<Token>& out) const {
  std::vector<Bpe::Symbol> symbols;
  for (std::string_view word : rules_.words(normalized)) {
    symbols.clear();
    if (int32_t id = whole_word(word); id >= 0)
      symbols.push_back({id, static_cast<uint32_t>(word.size())});
    else
      bpe_->encode(word, symbols);
    Token token = from;
    token.at += static_cast<size_t>(word.data() - normalized.data());
    for (const Bpe::Symbol& symbol : symbols) {
      token.id = symbol.id;
      out.push_back(token);
      token.at += symbol.bytes;
    }
  }
}

// text[begin, end) holds no token that is looked for in the text as given.
void ByteLevelBpe::append_plain(std::string_view text, size_t begin, size_t end,
                                std::vector<Token>& out) const {
  std::string normalized = rules_.normalize(text.substr(begin, end - begin));
  const size_t first = out.size(), added = prefix_of(normalized, begin).size();
  normalized.insert(0, prefix_of(normalized, begin));
  std::string_view view = normalized;
  for (size_t pos = 0; pos < view.size();) {
    TokenMatcher::Match match = in_normalized_text_.find(view, pos);
    append_words(view.substr(pos, match.begin - pos), {0, begin, end, pos}, out);
    if (match.id >= 0) out.push_back({match.id, begin, end, match.begin});
    pos = match.end;
  }
  for (size_t i = first; i < out.size(); ++i) out[i].at -= std::min(out[i].at, added);
}

std::string_view ByteLevelBpe::prefix_of(std::string_view normalized, size_t begin) const {
  const bool wanted =
      rules_.prefixed == Prefixed::each || (rules_.prefixed == Prefixed::first && begin == 0);
  if (!wanted || normalized.empty() || normalized.starts_with(rules_.prefix)) return {};
  return rules_.prefix;
}

std::vector<ByteLevelBpe::Token> ByteLevelBpe::tokens(std::string_view text) const {
  std::vector<Token> result;
  for (size_t pos = 0; pos < text.size();) {
    TokenMatcher::Match match = in_given_text_.find(text, pos);
    append_plain(text, pos, match.begin, result);
    if (match.id >= 0) result.push_back({match.id, match.begin, match.end, 0});
    pos = match.end;
  }
  return result;
}

size_t ByteLevelBpe::begin_of(const Token& token, std::string_view text) const {
  std::string_view part = text.substr(token.begin, token.end - token.begin);
  return token.begin + original_offset(part, token.at);
}

// The byte of `text` from which on its normalised form begins at byte `at` or just before: what was
// composed, lowered or folded has no byte-by-byte counterpart.
size_t ByteLevelBpe::original_offset(std::string_view text, size_t at) const {
  auto character_end = [&](size_t pos) {
    while (pos < text.size() && (static_cast<unsigned char>(text[pos]) & 0xC0) == 0x80) ++pos;
    return pos;
  };
  auto fits = [&](size_t end) { return rules_.normalize(text.substr(0, end)).size() <= at; };
  // The place is most often near the front of a long text, so the search widens from there.
  size_t low = 0, high = character_end(std::min(at + 1, text.size()));
  while (high < text.size() && fits(high)) {
    low = high;
    high = character_end(std::min(2 * high, text.size()));
  }
  // text[0, low) fits; text[0, high) does not, or is all.
  while (low < high) {
    size_t middle = character_end(low + (high - low + 1) / 2);
    if (fits(middle)) {
      low = middle;
    } else {
      high = middle - 1;
      while (high > low && (static_cast<unsigned char>(text[high]) & 0xC0) == 0x80) --high;
    }
  }
  return low;
}

}  // namespace omnirt::text
