#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/choice.hpp"
#include "base/ensure.hpp"
#include "base/json.hpp"

namespace omnirt {

// A config key, declared once; the CLI flag, the readers, the checks, the documentation and the
// origin in the report are derived from it.
struct KeyInfo {
  enum class Type { boolean, integer, number, text, list, object };
  using Fallback = std::variant<std::monostate, bool, int64_t, double, const char*>;

  const char* name;
  Type type;
  Fallback fallback;  // monostate: unset unless the model, a preset or the user sets it
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  const char* flag = "";   // the long flag without dashes; "": the name with dashes
  const char* brief = "";  // one letter, without the dash
  const char* help = "";
  const char* kinds = "";  // of JSON that may be of several: "number|list|object"; "": an object
  const char* const* names = nullptr;  // of a choice; null: free
  size_t name_count = 0;

  std::string flag_name() const;
  Json fallback_json() const;
  // A choice's names, or the kinds of JSON; empty where any value of the type will do.
  std::vector<std::string> choice_list() const;
};

struct Range {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
};

template <class T>
constexpr KeyInfo::Type key_type() {
  if constexpr (std::is_same_v<T, bool>) return KeyInfo::Type::boolean;
  if constexpr (std::is_same_v<T, int64_t>) return KeyInfo::Type::integer;
  if constexpr (std::is_same_v<T, double>) return KeyInfo::Type::number;
  if constexpr (std::is_same_v<T, std::string> || Choice<T>) return KeyInfo::Type::text;
  if constexpr (std::is_same_v<T, std::vector<int64_t>>) return KeyInfo::Type::list;
  return KeyInfo::Type::object;
}

template <class T>
struct Key : KeyInfo {
  constexpr Key(const char* name, Fallback fallback, Range range, const char* flag,
                const char* help, const char* brief = "", const char* kinds = "")
      : KeyInfo{name, key_type<T>(), fallback, range.min, range.max, flag, brief, help, kinds} {}
};

// A key whose values are the enumerators of a choice; requests name them.
template <Choice T>
struct Key<T> : KeyInfo {
  constexpr Key(const char* name, T fallback, const char* flag, const char* help,
                const char* brief = "")
      : Key(name, Fallback(name_of(fallback)), flag, help, brief) {}
  // Without a default.
  constexpr Key(const char* name, std::monostate, const char* flag, const char* help,
                const char* brief = "")
      : Key(name, Fallback(), flag, help, brief) {}

 private:
  constexpr Key(const char* name, Fallback fallback, const char* flag, const char* help,
                const char* brief)
      : KeyInfo{.name = name,
                .type = key_type<T>(),
                .fallback = fallback,
                .flag = flag,
                .brief = brief,
                .help = help,
                .names = ChoiceNames<T>::names.data(),
                .name_count = ChoiceNames<T>::names.size()} {}
};

enum class Origin { fallback, model, preset, user, drawn, derived };
const char* to_string(Origin origin);

struct ConfigValue {
  Json value;
  Origin origin = Origin::fallback;
};

// The values of a run's config keys, each with where it came from.
class ConfigValues {
 public:
  void set(const std::string& name, Json value, Origin origin) {
    values_[name] = {std::move(value), origin};
  }
  const ConfigValue* find(const std::string& name) const;
  const std::map<std::string, ConfigValue>& all() const { return values_; }
  // The value, or nothing while unset.
  template <class T>
  std::optional<T> maybe(const Key<T>& key) const {
    const ConfigValue* found = find(key.name);
    if (!found || found->value.is_null()) return std::nullopt;
    if constexpr (Choice<T>)
      return choice_of<T>(found->value.template get<std::string>());
    else
      return found->value.template get<T>();
  }
  template <class T>
  T get(const Key<T>& key) const {
    auto value = maybe(key);
    ensure(value.has_value(), "config key '{}' has no value", key.name);
    return *value;
  }
  Json to_json() const;  // {name: {value, origin}}

 private:
  std::map<std::string, ConfigValue> values_;
};

// Checks one value against its key: type, finite, range (of a list: of each of its numbers),
// choices. Adds a finding naming `field` and returns false when it does not fit; on success `value`
// is in the key's own type (2.0 for an integer becomes 2).
bool check_value(const KeyInfo& key, const std::string& field, Json& value,
                 std::vector<Finding>& findings);

}  // namespace omnirt
