#include "text/clip_tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/ensure.hpp"
#include "base/error.hpp"
#include "io/file.hpp"
#include "text/clip_specials.hpp"
#include "text/clip_text.hpp"
#include "text/prompt_text.hpp"
#include "text/tokenizer_json.hpp"
#include "text/unicode.hpp"

namespace omnirt::text {
namespace {

namespace fs = std::filesystem;

// Real ones: tokenizer.json 3.6 MB, vocab.json 1 MB, merges.txt 0.5 MB, the others below 1 KB.
// Those are read as trees, whose objects are quadratic in their keys, so their limit is a low one.
constexpr size_t max_model_bytes = size_t{16} << 20;
constexpr size_t max_settings_bytes = size_t{128} << 10;

bool present(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() != fs::file_type::not_found && !error;
}

BpeFiles read_model(const fs::path& folder) {
  fs::path whole = folder / "tokenizer.json";
  if (present(whole)) {
    return parse_tokenizer_json(io::read_file(whole, max_model_bytes), whole.string());
  }
  fs::path vocab = folder / "vocab.json", merges = folder / "merges.txt";
  for (const fs::path& path : {vocab, merges}) {
    if (!present(path)) {
      throw InvalidFile({path.string(), "", "not found, and there is no tokenizer.json either",
                         "a CLIP tokenizer's folder holds tokenizer.json, or vocab.json and "
                         "merges.txt"});
    }
  }
  BpeFiles files;
  files.vocabulary = parse_vocab_json(io::read_file(vocab, max_model_bytes), vocab.string());
  files.merges = parse_merges_txt(io::read_file(merges, max_model_bytes), merges.string());
  files.vocabulary_file = vocab.string();
  files.merges_file = merges.string();
  return files;
}

Json read_settings(const fs::path& path) {
  return present(path) ? io::read_json(path, max_settings_bytes) : Json();
}

// The byte of `text` from which on its normalized form begins at byte `at` or just before: what was
// composed, lowered or folded has no byte-by-byte counterpart.
size_t original_offset(std::string_view text, size_t at) {
  auto character_end = [&](size_t pos) {
    while (pos < text.size() && (static_cast<unsigned char>(text[pos]) & 0xC0) == 0x80) ++pos;
    return pos;
  };
  auto fits = [&](size_t end) { return clip_normalize(text.substr(0, end)).size() <= at; };
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

}  // namespace

CLIPTokenizer CLIPTokenizer::from_folder(const fs::path& folder, const Json& config) {
  BpeFiles files = read_model(folder);
  ClipSettings settings{folder.string(), config, {}, {}};
  if (!config.is_object()) {
    settings = {folder.string(), read_settings(folder / "tokenizer_config.json"),
                read_settings(folder / "special_tokens_map.json"),
                read_settings(folder / "added_tokens.json")};
  }
  ClipSpecials specials = read_clip_specials(settings, files.added_tokens);
  int32_t unknown = specials.unk ? files.vocabulary.find(*specials.unk) : -1;
  Bpe bpe(files.vocabulary, files.merges, unknown, files.vocabulary_file, files.merges_file);

  CLIPTokenizer tokenizer(std::move(files.vocabulary), std::move(bpe));
  std::string where = (folder / "tokenizer_config.json").string();
  tokenizer.add_tokens(specials.tokens, where);
  tokenizer.window_ = specials.window;
  tokenizer.bos_ = tokenizer.named_id("bos_token", specials.bos, where);
  tokenizer.eos_ = tokenizer.named_id("eos_token", specials.eos, where);
  tokenizer.pad_ = tokenizer.named_id("pad_token", specials.pad, where);
  return tokenizer;
}

int64_t CLIPTokenizer::named_id(const char* name, const std::string& token,
                                const std::string& where) const {
  int32_t id = vocabulary_->find(token);
  if (id >= 0) return id;
  throw InvalidFile({where, fmt::format("{}: \"{}\"", name, token), "not in the vocabulary",
                     "name a token that it has"});
}

// What the vocabulary lacks gets the ids behind it, in order. Of tokens with the same content the
// last one's flags count.
void CLIPTokenizer::add_tokens(const std::vector<AddedToken>& tokens, const std::string& where) {
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

void CLIPTokenizer::add_token(const AddedToken& token, int64_t next, const std::string& where) {
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
    in_normalized_text_.add(clip_normalize(token.content), known);
  } else {
    in_given_text_.add(token.content, known);
  }
}

void CLIPTokenizer::append_words(std::string_view normalized, Token from,
                                 std::vector<Token>& out) const {
  std::vector<Bpe::Symbol> symbols;
  for (std::string_view word : clip_words(normalized)) {
    symbols.clear();
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
void CLIPTokenizer::append_plain(std::string_view text, size_t begin, size_t end,
                                 std::vector<Token>& out) const {
  std::string normalized = clip_normalize(text.substr(begin, end - begin));
  std::string_view view = normalized;
  for (size_t pos = 0; pos < view.size();) {
    TokenMatcher::Match match = in_normalized_text_.find(view, pos);
    append_words(view.substr(pos, match.begin - pos), {0, begin, end, pos}, out);
    if (match.id >= 0) append_added({match.id, begin, end, match.begin}, out);
    pos = match.end;
  }
}

std::shared_ptr<const Tokenizer> CLIPTokenizer::with_tokens(
    const std::vector<TokenVectors>& added) const {
  auto extended = std::make_shared<CLIPTokenizer>(*this);
  for (const TokenVectors& token : added) {
    auto id = static_cast<int32_t>(token.first_id);
    extended->in_normalized_text_.add(clip_normalize(token.content), id);
    if (token.vectors > 1) extended->vectors_[id] = token.vectors;
    // Each further vector is a token too, as the reference names them.
    for (int32_t i = 1; i < token.vectors; ++i)
      extended->in_normalized_text_.add(clip_normalize(fmt::format("{}_{}", token.content, i)),
                                        id + i);
  }
  return extended;
}

bool CLIPTokenizer::has_token(std::string_view token) const {
  return vocabulary_->find(token) >= 0;
}

// A token that stands for several vectors is followed by their ids.
void CLIPTokenizer::append_added(const Token& token, std::vector<Token>& out) const {
  out.push_back(token);
  auto several = vectors_.find(token.id);
  if (several == vectors_.end()) return;
  for (int64_t i = 1; i < several->second; ++i) {
    out.push_back(token);
    out.back().id += i;
  }
}

std::vector<CLIPTokenizer::Token> CLIPTokenizer::tokens(std::string_view text,
                                                        std::string_view field) const {
  check_prompt(text, field);
  std::vector<Token> result;
  for (size_t pos = 0; pos < text.size();) {
    TokenMatcher::Match match = in_given_text_.find(text, pos);
    append_plain(text, pos, match.begin, result);
    if (match.id >= 0) result.push_back({match.id, match.begin, match.end, 0});
    pos = match.end;
  }
  return result;
}

std::vector<int64_t> CLIPTokenizer::encode_words(std::string_view text,
                                                 std::string_view field) const {
  std::vector<int64_t> ids;
  for (const Token& token : tokens(text, field)) ids.push_back(token.id);
  return ids;
}

TokenizedPrompt CLIPTokenizer::encode(std::string_view text, std::string_view field,
                                      int64_t length) const {
  ensure(length >= 2, "{} ids leave no room for the start and the end", length);
  std::vector<Token> found = tokens(text, field);
  size_t room = static_cast<size_t>(length) - 2;
  TokenizedPrompt result;
  result.ids.reserve(static_cast<size_t>(length));
  result.ids.push_back(bos_);
  for (size_t i = 0; i < std::min(room, found.size()); ++i) result.ids.push_back(found[i].id);
  result.ids.push_back(eos_);
  result.used = static_cast<int64_t>(result.ids.size());
  result.ids.resize(static_cast<size_t>(length), pad_);
  if (found.size() > room) {
    const Token& first = found[room];
    std::string_view part = text.substr(first.begin, first.end - first.begin);
    size_t begin = first.begin + original_offset(part, first.at);
    result.cut = without_space(text.substr(begin));
  }
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
    const std::string* token = vocabulary_->token(id);
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
    // A token that is no run of byte symbols is text as it stands.
    raw += whole ? decoded : *token;
  }
  std::string text = lossy_utf8(raw), spaced;
  for (std::string_view rest = text; !rest.empty();) {
    size_t end = rest.find(Bpe::suffix);
    spaced += rest.substr(0, end);
    if (end == rest.npos) break;
    spaced += ' ';
    rest.remove_prefix(end + Bpe::suffix.size());
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
