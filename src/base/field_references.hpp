#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace omnirt {

// A field of a request that a fix names, with the value to give it if the fix says which:
// "config.offload=leaf". A front end shows it in its own words ("--offload leaf").
struct FieldReference {
  size_t begin = 0, end = 0;           // where it is in the text
  std::string place;                   // "config", "inputs", "components", "guider" or "adapters"
  std::string name;                    // what follows: "offload", "scheduler_config.shift"
  std::optional<std::string> value{};  // a word, or JSON without spaces
  std::string field() const { return place + "." + name; }
};

// The references in a text, in order. Names are not checked: "config.json" is one.
std::vector<FieldReference> field_references(std::string_view text);

}  // namespace omnirt
