#include "request/network_in_file.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "weights/loader.hpp"
#include "weights/original_weights.hpp"

namespace omnirt {
namespace {

// What checkpoints and programs put before a component's names.
constexpr std::array prefixes{"",
                              "model.diffusion_model.",
                              "diffusion_model.",
                              "model.",
                              "unet.",
                              "transformer.",
                              "first_stage_model.",
                              "vae.",
                              "cond_stage_model.transformer.",
                              "cond_stage_model.model.",
                              "conditioner.embedders.0.transformer.",
                              "conditioner.embedders.0.model.",
                              "conditioner.embedders.1.model.",
                              "text_encoders.clip_l.transformer.",
                              "text_encoders.clip_g.transformer.",
                              "text_encoders.t5xxl.transformer.",
                              "text_encoder.",
                              "text_encoder_2.",
                              "text_encoder_3.",
                              "control_model.",
                              "controlnet."};

// Files hold some matrices as filters of one pixel, and GGUF drops sizes of 1 in front.
bool same_sizes(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  auto without_ones = [](std::vector<int64_t> shape) {
    std::erase(shape, 1);
    return shape;
  };
  return a == b || without_ones(a) == without_ones(b);
}

using Place = std::function<std::optional<nn::OriginalPlace>(const Param& param)>;

bool holds_all(const nn::Network& network, const ShapesByName& inside, const Place& place) {
  return std::ranges::all_of(network.params(), [&](const Param* param) {
    const auto wanted = place(*param);
    const auto found = wanted ? inside.find(wanted->name) : inside.end();
    return found != inside.end() && same_sizes(found->second, wanted->shape);
  });
}

bool holds_own_names(const nn::Network& network, const ShapesByName& inside, bool prefixed) {
  ShapesByName mapped;
  const nn::WeightMap map = network.weight_map();
  for (const auto& [name, shape] : inside) mapped[prefixed ? name : mapped_name(map, name)] = shape;
  return holds_all(network, mapped, [](const Param& param) {
    return std::optional(nn::OriginalPlace{param.name, param.shape});
  });
}

}  // namespace

std::optional<NetworkInFile> network_in_file(const nn::Network& network,
                                             const ShapesByName& shapes) {
  const std::vector<nn::OriginalLayout> layouts = network.original_layouts();
  for (const std::string prefix : prefixes) {
    const ShapesByName inside = shapes_below(shapes, prefix);
    if (inside.empty()) continue;
    const bool prefixed = !prefix.empty();
    if (holds_own_names(network, inside, prefixed))
      return NetworkInFile{prefixed ? own_names : "", prefix};
    for (const nn::OriginalLayout& layout : layouts) {
      auto place = [&](const Param& param) { return nn::original_place(layout, param); };
      if (holds_all(network, inside, place)) return NetworkInFile{layout.name, prefix};
    }
  }
  return std::nullopt;
}

}  // namespace omnirt
