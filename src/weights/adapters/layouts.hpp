#pragma once
#include <optional>
#include <string>
#include <vector>

// The layouts of adapter files as data: how a key ends, how it begins, and what each means.
namespace omnirt::adapters {

// A key's parts.
struct ParsedKey {
  std::string layer;      // the layer's name
  std::string part;       // what the tensor is
  std::string component;  // that the key's beginning names, or ""
  std::string layout;     // the notation of the key; whose names the layers have is not in it
  std::optional<size_t> number;
};

// nullopt where no layout has such a key.
std::optional<ParsedKey> parse_key(const std::string& key);

// What a key belongs to that is known and not applied ("OFT"); "" where it is not known.
std::string not_applied(const std::string& key);

// All kinds of adapters that are applied, and those of them that change layers.
const std::vector<std::string>& all_kinds();
const std::vector<std::string>& layer_kinds();

// The name of the network that predicts noise, whatever the pipeline calls it.
inline constexpr const char* denoiser_component = "denoiser";

}  // namespace omnirt::adapters
