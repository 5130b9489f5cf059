#include "networks/z_image_controlnet_model/config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "nn/config_check.hpp"

namespace omnirt {
namespace {

constexpr size_t most_places = 512;

// Blocks are numbered in the order in which they look; the first one takes the image in.
void check_places(const char* name, const std::vector<int64_t>& places, nn::ConfigCheck& check) {
  check.length(name, places.size(), most_places);
  if (places.empty()) return;
  const bool rising =
      std::ranges::is_sorted(places, std::ranges::less_equal()) ||
      std::ranges::adjacent_find(places, std::ranges::greater_equal()) == places.end();
  check.expect(places.front() == 0 && rising && places.back() < static_cast<int64_t>(most_places),
               name, fmt::format("{}", fmt::join(places, ", ")),
               fmt::format("numbers of blocks below {}, from 0 on", most_places),
               "give them rising");
}

}  // namespace

ZImageControlRefiner ZImageControlNetConfig::refiner() const {
  if (!add_control_noise_refiner) return ZImageControlRefiner::none;
  return *add_control_noise_refiner == "control_layers" ? ZImageControlRefiner::control_layers
                                                        : ZImageControlRefiner::its_own;
}

std::vector<int64_t> ZImageControlNetConfig::refiner_places() const {
  if (refiner() == ZImageControlRefiner::none) return {};
  return control_refiner_layers_places.value_or(std::vector<int64_t>{});
}

ZImageControlNetConfig read_z_image_controlnet_config(const Json& json, const std::string& where) {
  auto config = read_config<ZImageControlNetConfig>(json, where);
  nn::ConfigCheck check(where);
  check_places("control_layers_places", config.control_layers_places, check);
  check.range("control_in_dim", config.control_in_dim, 1, 1 << 12);
  check.range("dim", config.blocks.dim, 1, 1 << 16);
  check.range("n_refiner_layers", config.blocks.n_refiner_layers, 0, 512);
  check.range("n_heads", config.blocks.n_heads, 1, 1 << 10);
  check.positive("norm_eps", config.blocks.norm_eps);
  if (config.add_control_noise_refiner)
    check.one_of("add_control_noise_refiner", *config.add_control_noise_refiner,
                 {"control_layers", "control_noise_refiner"});
  if (check.ok()) check.divisible("dim", config.blocks.dim, "n_heads", config.blocks.n_heads);
  if (check.ok() && config.refiner() != ZImageControlRefiner::none) {
    const std::vector<int64_t> places = config.refiner_places();
    check_places("control_refiner_layers_places", places, check);
    const size_t made = config.refiner() == ZImageControlRefiner::its_own
                            ? static_cast<size_t>(config.blocks.n_refiner_layers)
                            : config.control_layers_places.size();
    check.expect(places.size() <= made, "control_refiner_layers_places",
                 fmt::format("{} places", places.size()), fmt::format("{} blocks hint", made));
  }
  check.finish();
  return config;
}

}  // namespace omnirt
