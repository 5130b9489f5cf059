#pragma once
#include "weights/adapters/adapter_file.hpp"

namespace omnirt::adapters {

// PEFT's adapter_config.json. Throws InvalidFile where it is broken, Unsupported where it names a
// type or setting that is not applied.
PeftSettings read_peft_config(const std::filesystem::path& path);

// The same for each component, as diffusers writes it into a file's metadata
// (lora_adapter_metadata); `where` is the file.
void read_peft_metadata(const std::string& text, const std::string& where,
                        std::map<std::string, PeftSettings>& into);

// The rank and alpha of a layer, by its name below the component: the pattern's that ends it, or
// those for all; 0 where nothing is said.
struct RankAlpha {
  double rank = 0, alpha = 0;
};
RankAlpha rank_alpha(const PeftSettings& settings, const std::string& layer);

}  // namespace omnirt::adapters
