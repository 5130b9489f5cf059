#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/error.hpp"

namespace omnirt::nn {

// A config value that a checkpoint has once for all levels, or as a list with one for each.
template <class T>
using PerLevel = std::variant<T, std::vector<T>>;

// Collects what is wrong with the values of a config.json that have the right types, so that a
// hostile or half-edited file is refused before a tree is built from it. `finish` throws
// Unsupported with all findings.
class ConfigCheck {
 public:
  // `where` names the file in findings.
  explicit ConfigCheck(std::string where) : where_(std::move(where)) {}

  void range(const std::string& name, int64_t value, int64_t lowest, int64_t highest);
  void positive(const std::string& name, double value);
  // The list must not be empty, nor longer than `most`.
  void length(const std::string& name, size_t length, size_t most);
  void one_of(const std::string& name, const std::string& value,
              const std::vector<std::string>& implemented);
  void divisible(const std::string& name, int64_t value, const std::string& by, int64_t divisor);
  // The widths that positions on each of `count` axes turn of heads `head_dim` wide, each at least
  // `least`: checked once the sizes before them are right.
  void rotary_axes(const std::string& name, const std::vector<int64_t>& axes, size_t count,
                   int64_t least, int64_t head_dim);
  void expect(bool ok, const std::string& name, std::string value, std::string message,
              std::string way_out = "");
  bool ok() const { return findings_.empty(); }
  void finish() const;

  // One value per level: a single value repeated, or the list, which must have `levels` entries (a
  // finding otherwise, and defaults are returned).
  template <class T>
  std::vector<T> per_level(const std::string& name, const PerLevel<T>& value, size_t levels) {
    if (const T* single = std::get_if<T>(&value)) return std::vector<T>(levels, *single);
    const auto& list = std::get<std::vector<T>>(value);
    expect(list.size() == levels, name, std::to_string(list.size()) + " values",
           "there must be one value for each of the " + std::to_string(levels) + " levels");
    return list.size() == levels ? list : std::vector<T>(levels, T{});
  }

 private:
  std::string where_;
  std::vector<Finding> findings_;
};

}  // namespace omnirt::nn
