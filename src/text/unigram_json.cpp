#include <fmt/format.h>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/json_reason.hpp"
#include "text/unigram_files.hpp"
#include "text/vocabulary.hpp"

namespace omnirt::text {
namespace {

[[noreturn]] void refuse(const std::string& where, std::string value, std::string message) {
  throw InvalidFile({where, std::move(value), std::move(message), ""});
}

// The bytes that base64 (RFC 4648) encodes.
std::string from_base64(std::string_view text, const std::string& where) {
  static constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  uint32_t bits = 0;
  int held = 0;
  for (char c : text) {
    size_t digit = digits.find(c);
    if (digit == std::string_view::npos) refuse(where, "precompiled_charsmap", "not base64");
    bits = bits << 6 | static_cast<uint32_t>(digit);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held & 0xFF);
  }
  return bytes;
}

// Reads as the file streams by: trees of hostile files are slow to build.
class Reader : public nlohmann::json_sax<Json> {
 public:
  explicit Reader(const std::string& where) : where_(where) {}

  UnigramFiles take() {
    if (files_.pieces.empty()) refuse(where_, "", "has no model.vocab");
    return std::move(files_);
  }

  bool key(string_t& name) override {
    key_ = std::move(name);
    return true;
  }
  bool start_object(size_t) override {
    Place next = Place::skip;
    if (places_.empty()) next = Place::root;
    if (place() == Place::root && key_ == "model") next = Place::model;
    // Of a sequence of normalizers the replacements count, wherever they are.
    if (place() == Place::normalizer || (place() == Place::root && key_ == "normalizer"))
      next = Place::normalizer;
    if (place() == Place::added_tokens) next = start_added_token();
    if (place() == Place::vocabulary || place() == Place::piece) bad_piece();
    return enter(next);
  }
  bool start_array(size_t) override {
    Place next = Place::skip;
    if (place() == Place::root && key_ == "added_tokens") next = Place::added_tokens;
    if (place() == Place::model && key_ == "vocab") next = Place::vocabulary;
    if (place() == Place::normalizer) next = Place::normalizer;
    if (place() == Place::vocabulary) next = start_piece();
    if (place() == Place::piece) bad_piece();
    return enter(next);
  }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }

  bool string(string_t& value) override {
    if (place() == Place::piece && values_ == 0) {
      files_.pieces.back().text = std::move(value);
      ++values_;
      return true;
    }
    if (place() == Place::model && key_ == "type") check_type(value);
    if (place() == Place::normalizer && key_ == "precompiled_charsmap" && files_.charsmap.empty())
      files_.charsmap = from_base64(value, where_);
    if (place() == Place::added_token && key_ == "content")
      files_.added_tokens.back().content = std::move(value);
    return other();
  }
  bool boolean(bool value) override {
    if (place() == Place::added_token) {
      AddedToken& token = files_.added_tokens.back();
      if (key_ == "special") token.special = value;
      if (value && key_ == "single_word") {
        throw Unsupported(
            {where_, "single_word: true", "an added token wants it; only false is known", ""});
      }
    }
    return other();
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (place() == Place::added_token && key_ == "id")
      files_.added_tokens.back().id = static_cast<int64_t>(
          std::min<number_unsigned_t>(value, static_cast<uint64_t>(max_vocabulary)));
    return number(static_cast<double>(value));
  }
  bool number_integer(number_integer_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }
  bool null() override { return other(); }
  bool binary(binary_t&) override { return false; }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) override {
    refuse(where_, "", "not valid JSON: " + json_reason(error.what()));
  }

 private:
  enum class Place {
    nothing,
    root,
    model,
    vocabulary,
    piece,
    normalizer,
    added_tokens,
    added_token,
    skip
  };
  Place place() const { return places_.empty() ? Place::nothing : places_.back(); }

  Place start_piece() {
    if (files_.pieces.size() >= static_cast<size_t>(max_vocabulary))
      refuse(where_, "model.vocab", fmt::format("more than {} pieces", max_vocabulary));
    files_.pieces.emplace_back();
    values_ = 0;
    return Place::piece;
  }
  Place start_added_token() {
    if (files_.added_tokens.size() >= static_cast<size_t>(max_vocabulary))
      refuse(where_, "added_tokens", fmt::format("more than {}", max_vocabulary));
    files_.added_tokens.emplace_back();
    return Place::added_token;
  }
  bool enter(Place next) {
    if (places_.size() >= max_json_depth)
      refuse(where_, "", fmt::format("nested deeper than {} levels", max_json_depth));
    if (places_.empty() && next != Place::root) refuse(where_, "", "not a JSON object");
    places_.push_back(next);
    return true;
  }
  bool leave() {
    if (place() == Place::piece && values_ != 2) bad_piece();
    places_.pop_back();
    return true;
  }
  bool number(double value) {
    if (place() != Place::piece || values_ != 1) return other();
    files_.pieces.back().score = value;
    ++values_;
    return true;
  }
  // A value where nothing of its kind belongs; elsewhere it is skipped.
  bool other() {
    if (place() == Place::nothing) refuse(where_, "", "not a JSON object");
    if (place() == Place::piece || place() == Place::vocabulary) bad_piece();
    return true;
  }
  void check_type(const std::string& type) {
    if (type == "Unigram") return;
    throw Unsupported({where_, fmt::format("model.type: \"{}\"", type),
                       "T5's tokenizer is a unigram model, type \"Unigram\"",
                       "give the folder of a T5 tokenizer"});
  }
  [[noreturn]] void bad_piece() {
    refuse(where_, "",
           fmt::format("entry {} of model.vocab is not [piece, score]", files_.pieces.size()));
  }

  const std::string& where_;
  UnigramFiles files_;
  std::vector<Place> places_;
  std::string key_;
  int values_ = 0;  // of the current piece
};

}  // namespace

UnigramFiles parse_unigram_json(std::string_view text, const std::string& where) {
  Reader reader(where);
  Json::sax_parse(text, &reader);
  return reader.take();
}

}  // namespace omnirt::text
