#include "nn/adapter_layouts.hpp"

namespace omnirt::nn {

const std::vector<NamedAdapters>& named_adapters() {
  static const std::vector<NamedAdapters> all{
      {"flux", "diffusers", "bfl"},  // Black Forest Labs' control LoRAs
      {"flux", "peft", "kontext"},   // fal's LoRAs of FLUX.1 Kontext
  };
  return all;
}

}  // namespace omnirt::nn
