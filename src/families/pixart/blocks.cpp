#include "families/pixart/blocks.hpp"

#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include "blocks/text_width.hpp"

namespace omnirt::pixart {
void CheckParts::check(Checks& checks) const {
  const PixArtTransformer2DModel& network = checks[transformer];
  int64_t latents = checks[vae].latent_channels();
  int64_t in = network.in_channels(), out = network.predicted_channels();
  if (in != latents) {
    checks.error({"transformer.in_channels", std::to_string(in),
                  fmt::format("the autoencoder has {} latent channels", latents),
                  "use the autoencoder of the same model"});
  } else if (out != in && out != 2 * in) {
    checks.error({"transformer.out_channels", std::to_string(out),
                  fmt::format("{} latent channels want {}, or {} with a variance", in, in, 2 * in),
                  ""});
  }
  blocks::check_text_width(checks, "text_encoder.d_model", checks[text_encoder].hidden_size(),
                           network.context_dim());
  if (checks.pipeline_class() == "PixArtAlphaPipeline" && checks[num_inference_steps] == 1) {
    checks.warn({"config.num_inference_steps", "1",
                 "in one step the reference's pipeline takes the predicted image itself, here the "
                 "scheduler takes its step; with LCMScheduler they are the same",
                 "use more steps, or that scheduler"});
  }
}

blocks::BinnedSizes pixart_sizes() {
  return {.latent_pixels = 8, .patch_size = [](const nn::DenoiserNetwork& transformer) {
            return dynamic_cast<const PixArtTransformer2DModel&>(transformer).patch_size();
          }};
}

Trigger takes_size() {
  return {[](const Facts& facts) {
            const auto* network = facts.network<PixArtTransformer2DModel>("transformer");
            return network && network->takes_size();
          },
          "transformer.use_additional_conditions",
          {}};
}

SizeNumbers size_numbers(blocks::PixelSize size) {
  auto high = static_cast<double>(size.height), wide = static_cast<double>(size.width);
  return {at::tensor({high, wide}, at::kFloat).unsqueeze(0),
          at::tensor({high / wide}, at::kFloat).unsqueeze(0)};
}

SizeConditions::SizeConditions()
    : Block("size_conditions", Stage::prepare_conditions, Guidance::shared, takes_size()) {}

void SizeConditions::run(Frame& frame) const {
  const SizeNumbers numbers = size_numbers(
      pixart_sizes().made_at({frame[height], frame[width]}, frame[binning], frame[transformer]));
  frame[resolution] = numbers.resolution;
  frame[aspect_ratio] = numbers.aspect_ratio;
}

}  // namespace omnirt::pixart
