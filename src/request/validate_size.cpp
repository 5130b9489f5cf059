// Sizes that are far from those that a model has seen.
#include <fmt/format.h>

#include <algorithm>

#include "nn/denoiser_network.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/symbol_sizes.hpp"
#include "request/validate.hpp"

namespace omnirt::validation {
namespace {

struct Size {
  int64_t width = 0, height = 0;  // pixels
  std::string text() const { return fmt::format("{}x{}", width, height); }
};

// At four times the pixels networks repeat their subject, and at a quarter they lose it (1024x1024
// by Stable Diffusion 1.x, 512x512 by XL); sides of one and a half times and the like are usual.
constexpr double far_area = 4;
constexpr double far_side = 2;

// Networks of smaller sides are made to try a program, and draw nothing at any size.
constexpr int64_t least_trained_side = 64;

// By how much one is larger than the other, whichever it is; at least 1.
double ratio(int64_t a, int64_t b) {
  return static_cast<double>(std::max(a, b)) / static_cast<double>(std::min(a, b));
}

bool is_far(const Size& made, const Size& trained) {
  return ratio(made.width * made.height, trained.width * trained.height) >= far_area ||
         std::max(ratio(made.width, trained.width), ratio(made.height, trained.height)) > far_side;
}

// What the network's config says, else the model's own size; nothing where neither is said.
std::optional<Size> trained_size(const Proposal& proposal, int64_t pixels_of_latent) {
  for (const std::string& name : proposal.plan.components) {
    const auto* network = proposal.facts.network<nn::DenoiserNetwork>(name);
    if (!network || network->sample_size()[0] < 1 || network->sample_size()[1] < 1) continue;
    auto [high, wide] = network->sample_size();
    return Size{wide * pixels_of_latent, high * pixels_of_latent};
  }
  const Json own = proposal.spec->defaults(proposal.folder);
  const Json width = own.value(keys::width.name, Json()),
             height = own.value(keys::height.name, Json());
  if (!width.is_number_integer() || !height.is_number_integer()) return std::nullopt;
  return Size{width.get<int64_t>(), height.get<int64_t>()};
}

// The size at which the network is asked, which may be another than the image's; nothing where a
// second pass or windows lead to sizes beyond the trained one.
std::optional<Size> made_size(Proposal& proposal, int64_t pixels_of_latent) {
  if (proposal.config.maybe(keys::window_size)) return std::nullopt;
  SymbolSizes symbols;
  for (const auto& block : proposal.plan.blocks)
    block->tell_sizes(proposal.checks_of(*block), symbols);
  auto wide = symbols.find("W/8"), high = symbols.find("H/8");
  if (!wide || !high || *wide < 1 || *high < 1 || symbols.find("W2/8")) return std::nullopt;
  return Size{*wide * pixels_of_latent, *high * pixels_of_latent};
}

std::string instead_of(const Proposal& proposal, const Size& made, const Size& trained) {
  if (made.width * made.height < trained.width * trained.height)
    return fmt::format("make it at about {}, and smaller afterwards", trained.text());
  const Plan& plan = proposal.plan;
  bool two_passes = std::ranges::any_of(proposal.family->blocks, [](const auto& block) {
    return std::ranges::any_of(block->ports(), [](const PortInfo& port) {
      return port.key && port.name == "hires_scale";
    });
  });
  bool first = two_passes && !plan.find_input("image");
  return fmt::format("make it at about {}{}", trained.text(),
                     first ? ", and larger by config.hires_scale" : ", and larger afterwards");
}

}  // namespace

void check_size(Proposal& proposal) {
  const nn::Autoencoder* autoencoder = proposal.autoencoder();
  auto given = [&](const KeyInfo& key) {
    const ConfigValue* value = proposal.config.find(key.name);
    return value && value->origin == Origin::user;
  };
  if (!autoencoder || proposal.resumed || !(given(keys::width) || given(keys::height))) return;
  const int64_t pixels = autoencoder->factors().side;
  auto made = made_size(proposal, pixels);
  auto trained = trained_size(proposal, pixels);
  if (!made || !trained || std::min(trained->width, trained->height) < least_trained_side ||
      !is_far(*made, *trained))
    return;
  proposal.warn(
      {fmt::format("config.{}", given(keys::width) ? keys::width.name : keys::height.name),
       made->text(),
       fmt::format("far from {}, at which the model was trained: images of such sizes "
                   "repeat their subject or lose it",
                   trained->text()),
       instead_of(proposal, *made, *trained)});
}

}  // namespace omnirt::validation
