#include "text/t5_tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/ensure.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/path_text.hpp"
#include "base/whole_number.hpp"
#include "io/file.hpp"
#include "text/prompt_text.hpp"
#include "text/unicode.hpp"
#include "text/unigram_files.hpp"
#include "text/vocabulary.hpp"

namespace omnirt::text {
namespace {

namespace fs = std::filesystem;

// Real ones: tokenizer.json 2.4 MB, spiece.model 0.8 MB, the others some 20 KB. Those are read as
// trees, whose objects are quadratic in their keys, so their limit is a low one.
constexpr size_t max_model_bytes = size_t{16} << 20;
constexpr size_t max_settings_bytes = size_t{128} << 10;
constexpr int64_t usual_window = 512, max_window = 65536;
constexpr int64_t unk_id = 2;  // the reference's, whatever the file says
constexpr int64_t max_extra_ids = 1000;
constexpr size_t max_piece_bytes = 1024;  // sentencepiece trains pieces of 16 characters
constexpr double max_score = 1e6;         // logarithms of likelihoods, or ranks
// Real pieces need at most 17 steps per byte; each takes up to 100 ns.
constexpr size_t max_steps = 32 * max_prompt_bytes;
constexpr std::string_view underline = "\u2581";  // begins each word

bool present(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() != fs::file_type::not_found && !error;
}

Json read_settings(const fs::path& path) {
  Json settings = present(path) ? io::read_json(path, max_settings_bytes) : Json::object();
  if (settings.is_object()) return settings;
  throw InvalidFile({path_text(path), shown(settings), "an object is expected", ""});
}

UnigramFiles read_model(const fs::path& folder) {
  fs::path whole = folder / "tokenizer.json", pieces = folder / "spiece.model";
  if (present(whole))
    return parse_unigram_json(io::read_file(whole, max_model_bytes), path_text(whole));
  if (present(pieces))
    return parse_sentencepiece(io::read_file(pieces, max_model_bytes), path_text(pieces));
  throw InvalidFile({path_text(folder), "", "holds neither tokenizer.json nor spiece.model",
                     "a T5 tokenizer's folder holds one of them"});
}

// A token as settings name it: its text, or an object with it.
std::string content_of(const Json& value, const std::string& field) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object() && value.contains("content") && value["content"].is_string())
    return value["content"].get<std::string>();
  throw InvalidFile({field, shown(value), "a token is expected", ""});
}

AddedToken token_of(const Json& value, int64_t id, const std::string& field) {
  AddedToken token;
  token.content = content_of(value, field);
  token.id = id;
  auto flag = [&](const char* name) {
    return value.is_object() && value.contains(name) && value[name] == true;
  };
  for (const char* unknown : {"normalized", "single_word"}) {
    if (flag(unknown))
      throw Unsupported({field, fmt::format("{}: true", unknown), "only false is known", ""});
  }
  return token;
}

int64_t id_of(const std::string& text, const std::string& where) {
  bool digits = !text.empty() && text.size() < 10 &&
                std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (digits) return std::stoll(text);
  throw InvalidFile({where, text, "an id is expected", ""});
}

// The tokens that are found in the text as they are, those with ids first, by id: of the settings,
// or where those have none of older files and the model.
std::vector<AddedToken> declared_tokens(const fs::path& folder, const Json& config,
                                        std::vector<AddedToken> of_model) {
  std::vector<AddedToken> tokens;
  std::string where = path_text(folder / "tokenizer_config.json");
  if (config.contains("added_tokens_decoder") && config["added_tokens_decoder"].is_object()) {
    for (const auto& [id, value] : config["added_tokens_decoder"].items())
      tokens.push_back(token_of(value, id_of(id, where), where + ".added_tokens_decoder"));
  } else {
    fs::path older = folder / "added_tokens.json";
    Json listed = read_settings(older);
    for (const auto& [content, id] : listed.items()) {
      const auto number = whole_number(id, 0, max_vocabulary - 1);
      if (!number) {
        throw InvalidFile(
            {path_text(older), fmt::format("\"{}\": {}", content, shown(id)),
             fmt::format("the id is not a whole number from 0 to {}", max_vocabulary - 1), ""});
      }
      tokens.push_back(token_of(Json(content), *number, path_text(older)));
    }
    std::ranges::move(of_model, std::back_inserter(tokens));
  }
  std::ranges::stable_sort(tokens, {},
                           [](const AddedToken& token) { return token.id.value_or(0); });
  return tokens;
}

int64_t extra_ids(const Json& config, const std::string& where) {
  const Json count = config.value("extra_ids", Json(100));
  if (const auto number = whole_number(count, 0, max_extra_ids)) return *number;
  throw InvalidFile({where + ".extra_ids", shown(count),
                     fmt::format("not a whole number from 0 to {}", max_extra_ids), ""});
}

// <extra_id_0> and on, or the tokens that the settings name in their place.
std::vector<std::string> further_specials(const Json& config, const std::string& where) {
  std::vector<std::string> names;
  bool extras = false;
  Json given = config.value("additional_special_tokens", Json());
  if (given.is_array()) {
    for (const Json& each : given) {
      names.push_back(content_of(each, where + ".additional_special_tokens"));
      extras |= names.back().find("<extra_id_") != std::string::npos;
    }
  }
  int64_t count = extras ? 0 : extra_ids(config, where);
  for (int64_t i = 0; i < count; ++i) names.push_back(fmt::format("<extra_id_{}>", i));
  return names;
}

int64_t window_of(const Json& config) {
  Json length = config.value("model_max_length", Json());
  // Files without a limit of their own say 1e30.
  if (!length.is_number() || length.get<double>() < 1 || length.get<double>() > max_window)
    return usual_window;
  return static_cast<int64_t>(length.get<double>());
}

void check_piece(const UnigramPiece& piece, const std::string& where) {
  std::string what;
  if (piece.text.size() > max_piece_bytes)
    what = fmt::format("a piece of {} bytes; the limit is {}", piece.text.size(), max_piece_bytes);
  else if (!(std::abs(piece.score) <= max_score))  // no number is none within the limit
    what = fmt::format("a piece's score is {}; -{} to {} are taken", piece.score, max_score,
                       max_score);
  if (what.empty()) return;
  throw InvalidFile({where, piece.text, what, "give the folder of a T5 tokenizer"});
}

size_t space_bytes(std::string_view text, size_t at) {
  size_t end = at;
  return char_class(next_codepoint(text, end)) == CharClass::space ? end - at : 0;
}

}  // namespace

// What a prompt may take: its tokenizer's files may multiply text.
struct T5Tokenizer::Budget {
  std::string_view field;
  size_t prompt_bytes;
  size_t bytes = max_prompt_bytes;  // of normalized text
  size_t steps = max_steps;         // of the search for pieces

  [[noreturn]] void refuse(std::string message) const {
    throw InvalidRequest(Finding{std::string(field), fmt::format("{} bytes", prompt_bytes),
                                 std::move(message),
                                 "shorten it, or use the model's own tokenizer"});
  }
};

T5Tokenizer::T5Tokenizer(Unigram model, PrecompiledCharsmap charsmap)
    : model_(std::move(model)),
      charsmap_(std::move(charsmap)),
      rows_(static_cast<int64_t>(model_.size())) {}

T5Tokenizer T5Tokenizer::from_folder(const fs::path& folder) {
  UnigramFiles files = read_model(folder);
  bool from_sentencepiece = !present(folder / "tokenizer.json");
  Json config = read_settings(folder / "tokenizer_config.json");
  std::string where = path_text(folder / "tokenizer_config.json");
  if (from_sentencepiece) {
    // Such a model lacks the extra tokens; they come last, the first of them at the end.
    for (int64_t i = extra_ids(config, where); i-- > 0;)
      files.pieces.push_back({fmt::format("<extra_id_{}>", i), 0.0});
  }
  if (static_cast<int64_t>(files.pieces.size()) <= unk_id)
    throw InvalidFile({path_text(folder), fmt::format("{} pieces", files.pieces.size()),
                       "too few for a T5 tokenizer", ""});
  for (const UnigramPiece& piece : files.pieces) check_piece(piece, path_text(folder));
  PrecompiledCharsmap charsmap;
  if (!files.charsmap.empty()) charsmap = {files.charsmap, path_text(folder)};
  T5Tokenizer tokenizer(Unigram(std::move(files.pieces), unk_id), std::move(charsmap));
  for (const AddedToken& token : declared_tokens(folder, config, std::move(files.added_tokens)))
    tokenizer.add_token(token.content, token.id, where);
  std::vector<std::string> named;
  for (auto [key, fallback] :
       {std::pair{"eos_token", "</s>"}, {"unk_token", "<unk>"}, {"pad_token", "<pad>"}})
    named.push_back(content_of(config.value(key, Json(fallback)), where + "." + key));
  std::ranges::move(further_specials(config, where), std::back_inserter(named));
  for (const std::string& content : named) tokenizer.add_token(content, std::nullopt, where);
  tokenizer.eos_ = tokenizer.named_id("eos_token", named[0], where);
  tokenizer.pad_ = tokenizer.named_id("pad_token", named[2], where);
  tokenizer.window_ = window_of(config);
  return tokenizer;
}

int64_t T5Tokenizer::named_id(const char* name, const std::string& token,
                              const std::string& where) const {
  auto it = added_ids_.find(token);
  if (it != added_ids_.end()) return it->second;
  throw InvalidFile({where, fmt::format("{}: \"{}\"", name, token), "not in the vocabulary", ""});
}

void T5Tokenizer::add_token(const std::string& content, std::optional<int64_t> declared,
                            const std::string& where) {
  if (content.empty() || added_ids_.contains(content)) return;
  int64_t known = model_.find(content);
  int64_t id = known >= 0 ? known : rows_;
  if (declared && *declared != id) {
    throw InvalidFile(
        {where, fmt::format("\"{}\": {}", content, *declared),
         fmt::format("an added token with this id would have id {} by the vocabulary", id),
         "let the two agree"});
  }
  if (id >= max_vocabulary)
    throw InvalidFile({where, content, fmt::format("more than {} tokens", id), ""});
  check_added_bytes(content, where);
  if (added_ids_.size() == max_added_tokens) {
    throw InvalidFile(
        {where, content, fmt::format("more than {} added tokens", max_added_tokens), ""});
  }
  rows_ = std::max(rows_, id + 1);
  added_ids_.emplace(content, id);
  added_.add(content, static_cast<int32_t>(id));
}

// text holds no added token; `origin` is where it is in the prompt.
void T5Tokenizer::append_words(std::string_view text, size_t origin, Budget& budget,
                               std::vector<Token>& out) const {
  NormalizedText normalized = charsmap_.normalize(text, budget.bytes);
  if (normalized.text.size() > budget.bytes) {
    budget.refuse(fmt::format("the tokenizer's replacements make more than {} bytes of it",
                              max_prompt_bytes));
  }
  budget.bytes -= normalized.text.size();
  std::string_view view = normalized.text;
  std::vector<Unigram::Token> pieces;
  for (size_t begin = 0; begin < view.size();) {
    if (size_t space = space_bytes(view, begin); space > 0) {
      begin += space;
      continue;
    }
    // A word ends at white space, and before an underline that the text has of its own.
    size_t end = begin;
    do next_codepoint(view, end);
    while (end < view.size() && space_bytes(view, end) == 0 &&
           !view.substr(end).starts_with(underline));
    std::string_view word = view.substr(begin, end - begin);
    std::string piece(word.starts_with(underline) ? "" : underline);
    piece += word;
    size_t added = piece.size() - word.size();
    pieces.clear();
    if (!model_.encode(piece, pieces, budget.steps))
      budget.refuse("the tokenizer's pieces overlap too much to split it in time");
    for (const Unigram::Token& token : pieces) {
      size_t at = begin + (token.begin > added ? token.begin - added : 0);
      out.push_back({token.id, origin + normalized.origin[at]});
    }
    begin = end;
  }
}

std::vector<T5Tokenizer::Token> T5Tokenizer::tokens(std::string_view text,
                                                    std::string_view field) const {
  check_prompt(text, field);
  std::vector<Token> result;
  Budget budget{field, text.size()};
  for (size_t pos = 0; pos < text.size();) {
    TokenMatcher::Match match = added_.find(text, pos);
    append_words(text.substr(pos, match.begin - pos), pos, budget, result);
    if (match.id >= 0) result.push_back({match.id, match.begin});
    pos = match.end;
  }
  return result;
}

std::vector<int64_t> T5Tokenizer::encode_words(std::string_view text,
                                               std::string_view field) const {
  std::vector<int64_t> ids;
  for (const Token& token : tokens(text, field)) ids.push_back(token.id);
  return ids;
}

TokenizedPrompt T5Tokenizer::encode(std::string_view text, std::string_view field,
                                    int64_t length) const {
  ensure(length >= 1, "{} ids leave no room for the end", length);
  std::vector<Token> found = tokens(text, field);
  auto room = static_cast<size_t>(length) - 1;
  TokenizedPrompt result;
  result.ids.reserve(static_cast<size_t>(length));
  for (size_t i = 0; i < std::min(room, found.size()); ++i) result.ids.push_back(found[i].id);
  result.ids.push_back(eos_);
  result.used = static_cast<int64_t>(result.ids.size());
  result.ids.resize(static_cast<size_t>(length), pad_);
  if (found.size() > room) result.cut = without_space(text.substr(found[room].begin));
  return result;
}

TokenizerInfo t5_tokenizer_info() {
  return {.class_names = {"T5Tokenizer", "T5TokenizerFast"},
          .make =
              [](const fs::path& folder, const Json&) {
                return std::make_shared<const T5Tokenizer>(T5Tokenizer::from_folder(folder));
              },
          .summary = "T5's unigram tokenizer"};
}

}  // namespace omnirt::text
