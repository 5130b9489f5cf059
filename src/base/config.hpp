#pragma once
#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"

namespace omnirt {

// Reads one config.json into a plain struct whose static `visit(self, visitor)` names each field
// once:
//
//   struct TinyConfig {
//     int64_t width = 64;
//     std::optional<double> gain;
//     static void visit(auto& self, auto& v) {
//       v("width", self.width);
//       v("gain", self.gain);                  // null or absent: nullopt
//       v.only("mode", {"plain"});             // any other value is refused by name and value
//       v.ignore({"dropout"});                 // says nothing about inference
//     }
//   };
//   auto config = read_config<TinyConfig>(json, "unet/config.json");
//
// A key that is absent keeps the struct's default. All findings are thrown together, as
// Unsupported.
class ConfigReader {
 public:
  ConfigReader(const Json& json, std::string where);

  template <class T>
  void operator()(const char* name, T& member) {
    const Json* value = find(name);
    if (value && !assign(*value, member)) wrong_type(name, *value);
  }

  // As above, and the value must be one of `allowed`.
  template <class T>
  void one_of(const char* name, T& member, std::initializer_list<T> allowed) {
    (*this)(name, member);
    for (const T& value : allowed) {
      if (value == member) return;
    }
    refuse(name, Json(member), Json(std::vector<T>(allowed)));
  }

  // The value must be absent, null, or one of `implemented`.
  void only(const char* name, const std::vector<Json>& implemented);
  void ignore(std::initializer_list<const char*> names);
  // Names starting with "_" are the writer's own notes. Other unvisited keys are refused unless
  // null.
  void finish(bool refuse_unknown);
  void refuse(const std::string& name, const Json& value, const Json& implemented);

 private:
  const Json* find(const char* name);
  void wrong_type(const char* name, const Json& value);

  static bool assign(const Json& value, bool& member);
  static bool assign(const Json& value, int64_t& member);
  static bool assign(const Json& value, double& member);
  static bool assign(const Json& value, std::string& member);
  template <class T>
  static bool assign(const Json& value, std::vector<T>& member) {
    if (!value.is_array()) return false;
    std::vector<T> read;
    for (const Json& item : value) {
      T element{};
      if (!assign(item, element)) return false;
      read.push_back(std::move(element));
    }
    member = std::move(read);
    return true;
  }
  template <class T>
  static bool assign(const Json& value, std::optional<T>& member) {
    member.reset();
    if (value.is_null()) return true;
    return assign(value, member.emplace());
  }
  template <class A, class B>
  static bool assign(const Json& value, std::variant<A, B>& member) {
    if (A a{}; assign(value, a)) return member = std::move(a), true;
    if (B b{}; assign(value, b)) return member = std::move(b), true;
    return false;
  }

  const Json& json_;
  std::string where_;
  std::set<std::string> seen_;
  std::vector<Finding> findings_;
};

template <class Config>
Config read_config(const Json& json, const std::string& where, bool refuse_unknown = true) {
  Config config;
  ConfigReader reader(json, where);
  Config::visit(config, reader);
  reader.finish(refuse_unknown);
  return config;
}

// A visitor that only collects the names that a config struct reads.
struct ConfigNames {
  std::vector<std::string> names;
  template <class T>
  void operator()(const char* name, const T&) {
    names.emplace_back(name);
  }
  template <class T>
  void one_of(const char* name, const T&, std::initializer_list<T>) {
    names.emplace_back(name);
  }
  void only(const char*, const std::vector<Json>&) {}
  void ignore(std::initializer_list<const char*>) {}
};

// The names that a config struct reads, in order of declaration.
template <class Config>
std::vector<std::string> config_names() {
  ConfigNames visitor;
  Config config;
  Config::visit(config, visitor);
  return visitor.names;
}

}  // namespace omnirt
