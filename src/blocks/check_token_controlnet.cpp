// What is refused of a ControlNet of tokens before any weight is read.
#include <fmt/format.h>

#include <algorithm>

#include "base/path_text.hpp"
#include "blocks/control_values.hpp"
#include "blocks/token_controlnet.hpp"
#include "nn/patches.hpp"

namespace omnirt::blocks {
namespace {

constexpr const char* another = "give one that was made for this model";

}  // namespace

void TokenControlNet::refuse(Checks& checks, const std::string& why,
                             const std::string& way_out) const {
  checks.error({"components." + controlnet.name(), path_text(checks.folder(controlnet)->folder),
                why, way_out});
}

void TokenControlNet::check_fits(Checks& checks) const {
  const nn::ControlNetwork& network = checks[controlnet];
  const nn::DenoiserNetwork& model = checks[transformer];
  auto differs = [&](const char* what, int64_t has, int64_t wanted) {
    if (has == wanted) return false;
    refuse(checks,
           fmt::format("its {} is {}, and that of the model's transformer {}", what, has, wanted),
           another);
    return true;
  };
  if (model.in_channels() != checks[vae].latent_channels()) {
    refuse(checks,
           "this model joins a mask or a control image to its latents, and takes no ControlNet",
           "remove it, or use a model without");
    return;
  }
  if (differs("number of latent channels", network.in_channels(), model.in_channels())) return;
  const auto sites = model.residual_sites();
  if (differs("width of tokens", network.token_dim(), sites.front().dim)) return;
  if (differs("patch_size", network.patch(), sites.front().patch)) return;
  if (network.context_dim() != 0 &&
      differs(options_.text_width, network.context_dim(), model.context_dim()))
    return;
  if (network.pooled_dim() != 0 &&
      differs("pooled_projection_dim", network.pooled_dim(), model.pooled_dim()))
    return;
  if (network.takes_guidance_scale() && !model.takes_guidance_scale()) {
    refuse(checks, "it takes a guidance scale (guidance_embeds), and this model takes none",
           another);
    return;
  }
  check_residuals(checks);
}

void TokenControlNet::check_residuals(Checks& checks) const {
  const auto made = checks[controlnet].residuals();
  const auto sites = checks[transformer].residual_sites();
  auto is_taken = [&](const nn::ControlNetwork::Residuals& residuals) {
    auto site = std::ranges::find(sites, residuals.input, &nn::ResidualSite::input);
    return site != sites.end() && site->blocks > 0;
  };
  if (std::ranges::none_of(made, is_taken))
    refuse(checks, "it makes no residuals that the model's blocks take", another);
}

// Pixels must become as many tokens as latents do.
void TokenControlNet::check_image(Checks& checks) const {
  const int64_t pixels = checks[controlnet].pixels_per_token();
  const int64_t token = checks[vae].factors().side * nn::patch_side;
  if (pixels == 0 || pixels == token) return;
  refuse(checks, fmt::format("it makes {} pixels a token, and the model {}", pixels, token),
         another);
}

void TokenControlNet::check_mode(Checks& checks) const {
  const std::optional<int64_t> modes = checks[controlnet].modes();
  if (!mode) {
    if (modes) refuse(checks, "it is a union, which this family has none of", another);
    return;
  }
  const auto given = checks.maybe(*mode);
  const Json kind = mode_at(given, place_);
  auto error = [&](const std::string& why, const std::string& way_out) {
    checks.error({"config.control_mode", given ? shown(*given) : "missing", why, way_out});
  };
  const std::string part = "components." + controlnet.name();
  if (!modes) {
    if (!kind.is_null())
      error(fmt::format("{} is no union of several kinds of control images", part),
            given->is_array() ? "give null for it" : "remove it");
    return;
  }
  const std::string range = fmt::format("give 0 to {}", *modes - 1);
  if (kind.is_null())
    error(fmt::format("{} is a union, and wants the number of its image's kind", part), range);
  else if (!kind.is_number_integer() || kind.get<double>() < 0 ||
           kind.get<double>() >= static_cast<double>(*modes))
    error(fmt::format("{} has modes 0 to {}", part, *modes - 1), range);
}

void TokenControlNet::check_size(Checks& checks) const {
  const nn::ControlNetwork& network = checks[controlnet];
  const int64_t most = network.max_side() * network.patch() * checks[vae].factors().side;
  for (const Config<int64_t>* side : {&width, &height}) {
    const auto pixels = checks.maybe(*side);
    if (most == 0 || !pixels || *pixels <= most) continue;
    checks.error({"config." + side->name(), std::to_string(*pixels),
                  fmt::format("components.{} has positions for {} pixels", controlnet.name(), most),
                  fmt::format("give at most {}", most)});
  }
}

// One that feeds back has a part for each block.
void TokenControlNet::check_feedback(Checks& checks) const {
  const nn::ControlNetwork& network = checks[controlnet];
  const size_t blocks = checks[transformer].residual_sites().front().blocks;
  const size_t parts = network.feeds_back() ? network.residuals().front().count : blocks;
  if (parts != blocks)
    refuse(checks,
           fmt::format("it looks at {} blocks, and the model's transformer has {}", parts, blocks),
           another);
}

// Whether this is of a class that the family has. All of a run feed back, or none, and all are for
// inpainting, or none.
bool TokenControlNet::check_kind(Checks& checks) const {
  auto feeds_back = [&](const ComponentFolder* folder) {
    return folder && folder->class_name == options_.feedback_class;
  };
  const bool mine = feeds_back(checks.folder(controlnet));
  const std::string& wanted = mine ? options_.feedback_class : options_.class_name;
  if (!is_of_class(checks, controlnet, wanted.c_str())) return false;
  auto alone = [&](const char* which) {
    refuse(checks, fmt::format("ControlNets {} go with no others", which),
           "give ControlNets of one kind");
    return false;
  };
  if (mine != feeds_back(checks.folder(first))) return alone("that look at each block's tokens");
  const bool alike = checks.folder(first)->class_name == wanted;
  if (alike && checks[controlnet].reads_mask() != checks[first].reads_mask())
    return alone("for inpainting");
  return true;
}

void TokenControlNet::check(Checks& checks) const {
  if (!check_kind(checks)) return;
  check_fits(checks);
  check_feedback(checks);
  check_image(checks);
  check_mode(checks);
  check_size(checks);
  const size_t parts = checks.count_alike(controlnet);
  if (place_ == 0 && checks[cache] != CacheKind::none)
    checks.error({"config.cache", name_of(checks[cache]),
                  "a ControlNet adds to the blocks, whose work such steps leave out in part",
                  "set it to none, or remove the ControlNet"});
  if (place_ + 1 < parts) return;  // The last one looks at what all share.
  check_parts(checks, scale, parts, -100, 100);
  check_parts(checks, start, parts, 0, 1);
  check_parts(checks, end, parts, 0, 1);
  check_preprocess(checks, preprocess, parts);
  const auto modes = mode ? checks.maybe(*mode) : std::nullopt;
  if (modes && modes->is_array() && modes->size() != parts)
    checks.error({"config.control_mode", shown(*modes), fmt::format("there are {} of them", parts),
                  "give one number for all, or one for each (null for one that is no union)"});
}

}  // namespace omnirt::blocks
