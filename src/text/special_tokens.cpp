#include "text/special_tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>

#include "base/error.hpp"
#include "base/path_text.hpp"
#include "base/whole_number.hpp"
#include "io/file.hpp"
#include "text/vocabulary.hpp"

namespace omnirt::text {
namespace {

// Real ones are below 1 KB, or 10 KB with a chat template; Mistral's declare 1,000 tokens in 200
// KB. They are read as trees, whose objects are quadratic in their keys, so their limit is a low
// one.
constexpr size_t max_settings_bytes = size_t{256} << 10;

// In the order in which the reference adds them.
constexpr std::array<const char*, 7> named = {"bos_token", "eos_token", "unk_token", "sep_token",
                                              "pad_token", "cls_token", "mask_token"};

bool is_named(const std::string& key) {
  return std::find(named.begin(), named.end(), key) != named.end();
}

class Sources {
 public:
  Sources(const SpecialRules& rules, const TokenizerSettings& settings,
          const std::vector<AddedToken>& from_tokenizer_json)
      : rules_(rules),
        settings_(settings),
        config_file_(file("tokenizer_config.json")),
        map_file_(file("special_tokens_map.json")),
        added_file_(file("added_tokens.json")),
        config_(object(settings.config, config_file_)),
        legacy_(!config_.contains("added_tokens_decoder")) {
    if (legacy_) {
      read_added_tokens_json();
      for (const AddedToken& token : from_tokenizer_json)
        declare(*token.id, token, "tokenizer.json");
    } else {
      read_decoder();
    }
  }

  SpecialTokens read() {
    refuse_unknown_settings();
    SpecialTokens result;
    result.window = window();
    result.pads_in_front =
        rules_.may_pad_in_front && config_.value("padding_side", Json()) == "left";
    std::vector<AddedToken> values;
    for (const char* name : named) {
      if (std::optional<AddedToken> value = find_named(name)) values.push_back(std::move(*value));
    }
    result.tokens = tokens_to_add(values);
    for (AddedToken& token : result.tokens) token.special |= contains(values, token.content);
    result.bos = content_of("bos_token");
    result.eos = content_of("eos_token");
    result.pad = content_of("pad_token");
    result.unk = content_of("unk_token");
    return result;
  }

 private:
  // Those that files declare with an id, then the named and extra ones that are not among them.
  std::vector<AddedToken> tokens_to_add(const std::vector<AddedToken>& values) const {
    std::vector<AddedToken> declared, tokens;
    for (const auto& [id, token] : declared_) declared.push_back(token);
    tokens = declared;
    auto add = [&](const AddedToken& token) {
      bool known = contains(declared, token.content) ||
                   std::find(tokens.begin(), tokens.end(), token) != tokens.end();
      if (!known) tokens.push_back(token);
    };
    for (const AddedToken& value : values) add(value);
    for (const AddedToken& token : extra_tokens()) add(token);
    return tokens;
  }

  std::string file(const char* name) const {
    return (std::filesystem::path(settings_.folder) / name).native();
  }

  static const Json& object(const Json& json, const std::string& where) {
    static const Json none = Json::object();
    if (json.is_null()) return none;
    if (!json.is_object()) throw InvalidFile({where, shown(json), "not a JSON object", ""});
    return json;
  }

  static bool contains(const std::vector<AddedToken>& tokens, const std::string& content) {
    return std::any_of(tokens.begin(), tokens.end(),
                       [&](const AddedToken& token) { return token.content == content; });
  }

  // A token as a string, or as an object with content and flags.
  static AddedToken token_of(const Json& json, const std::string& name, const std::string& where) {
    AddedToken token;
    if (json.is_string()) {
      token.content = json.get<std::string>();
      token.special = token.bare = true;
    } else if (json.is_object() && json.contains("content") && json["content"].is_string()) {
      token.content = json["content"].get<std::string>();
      token.special = flag(json, "special", name, where).value_or(false);
      token.normalized = flag(json, "normalized", name, where);
      for (const char* unknown : {"single_word", "lstrip", "rstrip"}) {
        if (flag(json, unknown, name, where).value_or(false)) {
          throw Unsupported(
              {where, fmt::format("{}.{}: true", name, unknown), "only false is known", ""});
        }
      }
    } else {
      throw InvalidFile({where, fmt::format("{}: {}", name, shown(json)),
                         "not a token: a string, or an object with a string \"content\"", ""});
    }
    check_added_bytes(token.content, where);
    return token;
  }

  static std::optional<bool> flag(const Json& json, const char* key, const std::string& name,
                                  const std::string& where) {
    auto value = json.find(key);
    if (value == json.end() || value->is_null()) return std::nullopt;
    if (!value->is_boolean()) {
      throw InvalidFile(
          {where, fmt::format("{}.{}: {}", name, key, shown(*value)), "not true or false", ""});
    }
    return value->get<bool>();
  }

  void declare(int64_t id, AddedToken token, const std::string& where) {
    check_added_bytes(token.content, where);
    if (id < 0 || id >= max_vocabulary) {
      throw InvalidFile({where, fmt::format("\"{}\": {}", token.content, id),
                         fmt::format("the id is not in 0 to {}", max_vocabulary - 1), ""});
    }
    token.id = id;
    declared_[id] = std::move(token);
    if (declared_.size() > max_added_tokens) {
      throw InvalidFile(
          {where, "", fmt::format("more than {} added tokens", max_added_tokens), ""});
    }
  }

  void read_decoder() {
    const Json& decoder = object(config_["added_tokens_decoder"], config_file_);
    for (const auto& [key, value] : decoder.items()) {
      int64_t id = -1;
      auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
      if (error != std::errc{} || end != key.data() + key.size()) id = -1;
      declare(id, token_of(value, "added_tokens_decoder." + key, config_file_), config_file_);
    }
  }

  void read_added_tokens_json() {
    for (const auto& [content, id] : object(settings_.added_tokens, added_file_).items()) {
      const auto number = whole_number(id, 0, max_vocabulary - 1);
      if (!number) {
        throw InvalidFile(
            {added_file_, fmt::format("\"{}\": {}", content, shown(id)),
             fmt::format("the id is not a whole number from 0 to {}", max_vocabulary - 1), ""});
      }
      AddedToken token;
      token.content = content;
      for (const char* name : named) {
        auto value = find_named(name);
        token.special |= value && value->content == content;
      }
      token.normalized = !token.special;
      declare(*number, std::move(token), added_file_);
    }
  }

  // A named special token; nothing when it is null, or absent and without a default.
  std::optional<AddedToken> find_named(const std::string& name) const {
    const Json& map = object(settings_.special_tokens_map, map_file_);
    if (legacy_ && map.contains(name) && !map[name].is_null()) {
      AddedToken token = token_of(map[name], name, map_file_);
      token.special = true;
      return token;
    }
    if (config_.contains(name)) {
      if (config_[name].is_null()) return std::nullopt;
      return token_of(config_[name], name, config_file_);
    }
    auto usual = rules_.defaults.find(name);
    if (usual == rules_.defaults.end()) return std::nullopt;
    AddedToken token;
    token.special = token.bare = true;
    token.content = usual->second;
    return token;
  }

  std::optional<std::string> content_of(const std::string& name) const {
    if (auto token = find_named(name)) return token->content;
    if (std::ranges::find(rules_.required, name) == rules_.required.end()) return std::nullopt;
    throw InvalidFile({config_file_, fmt::format("{}: null", name),
                       "a prompt cannot be framed and padded without it",
                       "name a token of the vocabulary, such as \"<|endoftext|>\""});
  }

  std::vector<AddedToken> extra_tokens() const {
    std::vector<AddedToken> tokens;
    const Json& map = object(settings_.special_tokens_map, map_file_);
    for (const char* key : {"additional_special_tokens", "extra_special_tokens"}) {
      if (config_.contains(key)) append_list(tokens, config_[key], key, config_file_);
      if (legacy_ && map.contains(key)) append_list(tokens, map[key], key, map_file_);
    }
    return tokens;
  }

  static void append_list(std::vector<AddedToken>& tokens, const Json& list, const std::string& key,
                          const std::string& where) {
    if (list.is_null() || list.empty()) return;
    // Named ones, of models that see images: {"image_token": "<|image_pad|>"}.
    if (!(list.is_array() || list.is_object()) || list.size() > max_added_tokens) {
      throw InvalidFile({where, fmt::format("{}: {}", key, shown(list)),
                         fmt::format("not a list of at most {} tokens", max_added_tokens), ""});
    }
    for (const Json& item : list) tokens.push_back(token_of(item, key, where));
  }

  void refuse_unknown_settings() const {
    if (!rules_.may_pad_in_front || config_.value("padding_side", Json()) != "left")
      only("padding_side", "right");
    only("truncation_side", "right");
    only("split_special_tokens", false);
    for (const std::string& key : rules_.only_false) only(key.c_str(), false);
    for (const auto& [key, value] : config_.items()) {
      bool known =
          is_named(key) || std::ranges::find(rules_.other_tokens, key) != rules_.other_tokens.end();
      if (key.ends_with("_token") && !known && value.is_string()) {
        throw Unsupported({config_file_, fmt::format("{}: {}", key, shown(value)),
                           rules_.whose + " knows no such special token", ""});
      }
    }
  }

  void only(const char* key, const Json& known) const {
    if (!config_.contains(key) || config_[key].is_null() || config_[key] == known) return;
    throw Unsupported({config_file_, fmt::format("{}: {}", key, shown(config_[key])),
                       fmt::format("only {} is known", shown(known)), ""});
  }

  int64_t window() const {
    const char* key = config_.contains("model_max_length") ? "model_max_length" : "max_len";
    const char* way_out =
        "set model_max_length to the text encoder's max_position_embeddings (77 for CLIP)";
    const bool named_none = !config_.contains(key) || config_[key].is_null();
    if (rules_.usual_window > 0 && (named_none || exceeds_window(config_[key])))
      return rules_.usual_window;
    if (named_none) {
      throw InvalidFile(
          {config_file_, "", "has no model_max_length, the window of a prompt", way_out});
    }
    const Json& value = config_[key];
    if (const auto window = whole_number(value, 2, max_window)) return *window;
    throw InvalidFile({config_file_, fmt::format("{}: {}", key, shown(value)),
                       fmt::format("not a whole number from 2 to {}", max_window), way_out});
  }

  // Files without a limit of their own say 1e30.
  static bool exceeds_window(const Json& value) {
    return value.is_number() && value.get<double>() > static_cast<double>(max_window);
  }

  const SpecialRules& rules_;
  const TokenizerSettings& settings_;
  std::string config_file_, map_file_, added_file_;
  const Json& config_;
  bool legacy_;  // no added_tokens_decoder: the older files count
  std::map<int64_t, AddedToken> declared_;
};

}  // namespace

TokenizerSettings read_tokenizer_settings(const std::filesystem::path& folder) {
  auto read = [&](const char* name) {
    const std::filesystem::path path = folder / name;
    std::error_code error;
    auto type = std::filesystem::symlink_status(path, error).type();
    return type == std::filesystem::file_type::not_found || error
               ? Json()
               : io::read_json(path, max_settings_bytes);
  };
  return {path_text(folder), read("tokenizer_config.json"), read("special_tokens_map.json"),
          read("added_tokens.json")};
}

SpecialTokens read_special_tokens(const SpecialRules& rules, const TokenizerSettings& settings,
                                  const std::vector<AddedToken>& from_tokenizer_json) {
  return Sources(rules, settings, from_tokenizer_json).read();
}

}  // namespace omnirt::text
