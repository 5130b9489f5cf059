#include "families/pixart/blocks.hpp"

#include <ATen/ops/tensor.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <fmt/format.h>

#include <algorithm>

#include "families/pixart/keys.hpp"
#include "families/pixart/sizes.hpp"
#include "tensor/image_tensor.hpp"

namespace omnirt::pixart {
namespace {

// What the image of a run is made at.
Size made_at(Size wanted, bool binning, const nn::DenoiserNetwork& transformer) {
  return binning ? binned(wanted, bins_of(transformer.sample_size()[0])) : wanted;
}

}  // namespace

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
  int64_t wanted = network.context_dim(), hidden = checks[text_encoder].hidden_size();
  if (wanted != hidden) {
    checks.error({"text_encoder.d_model", std::to_string(hidden),
                  fmt::format("the transformer takes embeddings {} wide", wanted),
                  "use the text encoder of the same model"});
  }
  if (checks.pipeline_class() == "PixArtAlphaPipeline" && checks[num_inference_steps] == 1) {
    checks.warn({"config.num_inference_steps", "1",
                 "in one step the reference's pipeline takes the predicted image itself, here the "
                 "scheduler takes its step; with LCMScheduler they are the same",
                 "use more steps, or that scheduler"});
  }
}

Trigger takes_size() {
  return {[](const Facts& facts) {
            const auto* network = facts.network<PixArtTransformer2DModel>("transformer");
            return network && network->takes_size();
          },
          "transformer.use_additional_conditions",
          {}};
}

SizeNumbers size_numbers(Size size) {
  auto high = static_cast<double>(size.height), wide = static_cast<double>(size.width);
  return {at::tensor({high, wide}, at::kFloat).unsqueeze(0),
          at::tensor({high / wide}, at::kFloat).unsqueeze(0)};
}

SizeConditions::SizeConditions()
    : Block("size_conditions", Stage::prepare_conditions, Guidance::shared, takes_size()),
      binning(this, use_resolution_binning) {}

void SizeConditions::run(Frame& frame) const {
  const SizeNumbers numbers =
      size_numbers(made_at({frame[height], frame[width]}, frame[binning], frame[transformer]));
  frame[resolution] = numbers.resolution;
  frame[aspect_ratio] = numbers.aspect_ratio;
}

TakeNoise::TakeNoise(Trigger trigger)
    : TakeNoiseOfImages(std::move(trigger)), binning(this, use_resolution_binning) {}

std::vector<int64_t> TakeNoise::wanted(const Checks& checks) const {
  std::vector<int64_t> shape = TakeNoiseOfImages::wanted(checks);
  Size size = made_at({checks[height], checks[width]}, checks[binning], checks[transformer]);
  int64_t grid = checks[vae].scale_factor();
  shape[2] = size.height / grid;
  shape[3] = size.width / grid;
  return shape;
}

PrepareLatents::PrepareLatents()
    : Block("prepare_latents", Stage::prepare_latents), binning(this, use_resolution_binning) {}

void PrepareLatents::run(Frame& frame) const {
  const nn::DenoiserNetwork& network = frame[transformer];
  Size size = made_at({frame[height], frame[width]}, frame[binning], network);
  int64_t grid = frame[vae].scale_factor();
  auto count = static_cast<int64_t>(frame[seeds].size());
  frame[noise] =
      blocks::initial_noise(frame[given_noise], *frame[noise_source],
                            {count, network.in_channels(), size.height / grid, size.width / grid});
  frame[latents] = frame[noise] * frame[schedule].scheduler->init_noise_sigma();
}

FitImages::FitImages(Trigger trigger)
    : Block("fit_images", Stage::decode, Guidance::shared, std::move(trigger)) {}

void FitImages::run(Frame& frame) const {
  Tensor& made = frame[decoded_images];
  int64_t high = frame[height], wide = frame[width];
  if (made.size(2) == high && made.size(3) == wide) return;
  double ratio = std::max(static_cast<double>(high) / static_cast<double>(made.size(2)),
                          static_cast<double>(wide) / static_cast<double>(made.size(3)));
  auto resized = [&](int64_t side) {
    return static_cast<int64_t>(static_cast<double>(side) * ratio);
  };
  int64_t tall = resized(made.size(2)), broad = resized(made.size(3));
  Tensor fitted = at::upsample_bilinear2d(made, {tall, broad}, /*align_corners=*/false);
  made = fitted.slice(2, (tall - high) / 2, (tall - high) / 2 + high)
             .slice(3, (broad - wide) / 2, (broad - wide) / 2 + wide)
             .contiguous();
  for (int64_t i = 0; i < made.size(0); ++i)
    frame[images][static_cast<size_t>(i)] = tensor_to_image(made, i);
}

}  // namespace omnirt::pixart
