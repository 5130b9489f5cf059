#include "text/tokenizer_json.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/json_reason.hpp"

namespace omnirt::text {
namespace {

[[noreturn]] void refuse(const std::string& where, std::string value, std::string message) {
  throw InvalidFile({where, std::move(value), std::move(message), ""});
}

// A merge makes an entry of the vocabulary; files that were made of a list of tokens have each pair
// that makes one (Mistral's some 270,000 for 131,072 entries).
void check_count(const Merges& merges, const std::string& where) {
  constexpr size_t max_merges = size_t{2} * max_vocabulary;
  if (merges.size() <= max_merges) return;
  refuse(where, "", fmt::format("more than {} merges", max_merges));
}

std::pair<std::string, std::string> split_merge(std::string_view line, size_t number,
                                                const std::string& where) {
  size_t space = line.find(' ');
  if (space == line.npos || line.find(' ', space + 1) != line.npos) {
    refuse(where, std::string(line),
           fmt::format("merge {} is not two tokens with a space between", number));
  }
  return {std::string(line.substr(0, space)), std::string(line.substr(space + 1))};
}

// Reads vocab.json and tokenizer.json as they stream by: a tree of 50,000 entries is slow to build,
// and its objects, which keep their order, are quadratic in their keys.
class Reader : public nlohmann::json_sax<Json> {
 public:
  // What the innermost object or array is.
  enum class Place {
    nothing,
    root,
    model,
    vocabulary,
    merges,
    merge,
    added_tokens,
    added_token,
    steps,
    post_processor,
    frame,   // of one text
    piece,   // of the frame: a token
    inside,  // the text
    skip
  };

  // `outermost` is what the file's outermost object is: root or vocabulary.
  Reader(const std::string& where, Place outermost) : where_(where), outermost_(outermost) {}

  BpeFiles take() {
    if (!seen_vocabulary_) refuse(where_, "", "has no vocabulary (an object of token: id)");
    if (outermost_ == Place::root && !seen_merges_) refuse(where_, "", "has no model.merges");
    return std::move(files_);
  }

  bool key(string_t& name) override {
    key_ = std::move(name);
    return true;
  }
  bool start_object(size_t) override { return enter(object_place()); }
  bool start_array(size_t) override { return enter(array_place()); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }

  bool string(string_t& value) override {
    switch (place()) {
      case Place::model:
        if (key_ == "type") check_type(value);
        break;
      case Place::merges:
        files_.merges.push_back(split_merge(value, files_.merges.size() + 1, where_));
        check_count(files_.merges, where_);
        break;
      case Place::merge:
        pair_.push_back(std::move(value));
        if (pair_.size() > 2) bad_merge();
        break;
      case Place::added_token:
        if (key_ == "content") files_.added_tokens.back().content = std::move(value);
        break;
      case Place::steps:
        if (key_ == "Regex" || key_ == "String") add_step(files_.steps.patterns, value);
        if (key_ == "type") add_step(files_.steps.kinds, value);
        break;
      case Place::piece:
        if (key_ == "id") add_step(seen_text_ ? files_.frame.after : files_.frame.before, value);
        break;
      default:
        other(value);
    }
    return true;
  }
  bool boolean(bool value) override {
    if (place() == Place::steps && value) add_step(files_.steps.set, key_);
    if (place() == Place::model && key_ == "ignore_merges") files_.steps.whole_words = value;
    if (place() != Place::added_token) return other(value ? "true" : "false");
    AddedToken& token = files_.added_tokens.back();
    if (key_ == "special") token.special = value;
    if (key_ == "normalized") token.normalized = value;
    if (value && (key_ == "single_word" || key_ == "lstrip" || key_ == "rstrip")) {
      throw Unsupported(
          {where_, fmt::format("{}: true", key_),
           fmt::format("added token {} wants it; only false is known", files_.added_tokens.size()),
           ""});
    }
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    return number(value < static_cast<uint64_t>(max_vocabulary) ? static_cast<int64_t>(value)
                                                                : max_vocabulary);
  }
  bool number_integer(number_integer_t value) override { return number(value); }
  bool number_float(number_float_t, const string_t& text) override { return other(text); }
  bool null() override { return other("null"); }
  bool binary(binary_t&) override { return false; }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) override {
    refuse(where_, "", "not valid JSON: " + json_reason(error.what()));
  }

 private:
  Place place() const { return places_.empty() ? Place::nothing : places_.back(); }

  Place object_place() {
    switch (place()) {
      case Place::nothing:
        if (outermost_ == Place::vocabulary) seen_vocabulary_ = true;
        return outermost_;
      case Place::root:
        if (key_ == "model") return Place::model;
        if (key_ == "post_processor") return Place::post_processor;
        return key_ == "pre_tokenizer" || key_ == "normalizer" ? Place::steps : Place::skip;
      case Place::steps:
        return Place::steps;
      case Place::post_processor:
        return key_ == "special_tokens" ? Place::skip : Place::post_processor;
      case Place::frame:
        if (key_ == "SpecialToken") return Place::piece;
        seen_text_ |= key_ == "Sequence";
        return key_ == "Sequence" ? Place::inside : Place::frame;
      case Place::model:
        if (key_ != "vocab") return Place::skip;
        once(seen_vocabulary_, "model.vocab");
        return Place::vocabulary;
      case Place::added_tokens:
        if (files_.added_tokens.size() >= static_cast<size_t>(max_vocabulary)) {
          refuse(where_, "added_tokens", fmt::format("more than {}", max_vocabulary));
        }
        files_.added_tokens.emplace_back();
        return Place::added_token;
      default:
        other("an object");
        return Place::skip;
    }
  }

  Place array_place() {
    switch (place()) {
      case Place::root:
        return key_ == "added_tokens" ? Place::added_tokens : Place::skip;
      case Place::steps:
        return Place::steps;
      case Place::post_processor:
        if (key_ == "single") return Place::frame;
        return key_ == "processors" ? Place::post_processor : Place::skip;
      case Place::model:
        if (key_ != "merges") return Place::skip;
        once(seen_merges_, "model.merges");
        return Place::merges;
      case Place::merges:
        pair_.clear();
        return Place::merge;
      default:
        other("an array");
        return Place::skip;
    }
  }

  bool enter(Place next) {
    if (places_.size() >= max_json_depth) {
      refuse(where_, "", fmt::format("nested deeper than {} levels", max_json_depth));
    }
    places_.push_back(next);
    return true;
  }

  bool leave() {
    if (place() == Place::merge) {
      if (pair_.size() != 2) bad_merge();
      files_.merges.emplace_back(std::move(pair_[0]), std::move(pair_[1]));
      check_count(files_.merges, where_);
    }
    if (place() == Place::added_token && !files_.added_tokens.back().id) {
      refuse(where_, files_.added_tokens.back().content, "an added token without id");
    }
    places_.pop_back();
    return true;
  }

  bool number(int64_t value) {
    if (place() == Place::vocabulary) {
      files_.vocabulary.add(std::move(key_), value, where_);
    } else if (place() == Place::added_token && key_ == "id") {
      files_.added_tokens.back().id = value;
    } else {
      other(std::to_string(value));
    }
    return true;
  }

  // A value where nothing of its kind belongs; elsewhere it is skipped.
  bool other(const std::string& value) {
    if (place() == Place::nothing) refuse(where_, value, "not a JSON object");
    if (place() == Place::vocabulary) {
      refuse(where_, fmt::format("\"{}\": {}", key_, value), "the id is not an integer");
    }
    if (place() == Place::merges || place() == Place::merge) bad_merge();
    return true;
  }

  void add_step(std::vector<std::string>& to, const std::string& what) {
    constexpr size_t most_steps = 64;  // real ones: 3
    if (to.size() == most_steps) refuse(where_, key_, fmt::format("more than {}", most_steps));
    to.push_back(what);
  }

  void once(bool& seen, const char* name) {
    if (seen) refuse(where_, name, "is there twice");
    seen = true;
  }

  void check_type(const std::string& type) {
    if (type == "BPE") return;
    throw Unsupported({where_, fmt::format("model.type: \"{}\"", type),
                       "this class of tokenizer is byte-pair encoding, type \"BPE\"",
                       "give the folder of the model's own tokenizer"});
  }

  [[noreturn]] void bad_merge() {
    refuse(where_, "",
           fmt::format("merge {} is neither \"a b\" nor [\"a\", \"b\"]", files_.merges.size() + 1));
  }

  const std::string& where_;
  Place outermost_;
  BpeFiles files_;
  bool seen_vocabulary_ = false;
  bool seen_merges_ = false;
  bool seen_text_ = false;  // of the frame
  std::vector<Place> places_;
  std::string key_;
  std::vector<std::string> pair_;
};

BpeFiles read(std::string_view text, const std::string& where, Reader::Place outermost) {
  Reader reader(where, outermost);
  Json::sax_parse(text, &reader);
  return reader.take();
}

}  // namespace

Vocabulary parse_vocab_json(std::string_view text, const std::string& where) {
  return read(text, where, Reader::Place::vocabulary).vocabulary;
}

BpeFiles parse_tokenizer_json(std::string_view text, const std::string& where) {
  BpeFiles files = read(text, where, Reader::Place::root);
  files.vocabulary_file = files.merges_file = where;
  return files;
}

Merges parse_merges_txt(std::string_view text, const std::string& where) {
  Merges merges;
  for (size_t number = 1; !text.empty(); ++number) {
    size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with("#version")) continue;
    merges.push_back(split_merge(line, number, where));
    check_count(merges, where);
  }
  return merges;
}

}  // namespace omnirt::text
