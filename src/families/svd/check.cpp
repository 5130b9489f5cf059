#include <fmt/format.h>

#include "base/path_text.hpp"
#include "families/svd/blocks.hpp"

namespace omnirt::families {
namespace {

constexpr int64_t encoder_side = 224;  // the side that the reference resizes first images to
constexpr int64_t time_ids = 3;

void expect(Checks& checks, const char* field, int64_t value, int64_t wanted,
            const std::string& why) {
  if (value == wanted) return;
  checks.error({field, std::to_string(value), fmt::format("{}, which wants {}", why, wanted),
                "use the parts of one model"});
}

}  // namespace

void CheckVideo::check_parts(Checks& checks) const {
  const UNetSpatioTemporalConditionModel& network = checks[unet];
  const CLIPVisionModel& encoder = checks[image_encoder];
  int64_t latent = checks[vae].latent_channels();
  expect(checks, "unet.in_channels", network.in_channels(), 2 * latent,
         fmt::format("the autoencoder has {} latent channels, and the UNet also takes the first "
                     "image's",
                     latent));
  expect(checks, "vae.temporal_factor", checks[vae].factors().frames, 1,
         "the UNet predicts one latent frame per frame");
  expect(checks, "unet.out_channels", network.out_channels(), latent,
         fmt::format("the autoencoder has {} latent channels", latent));
  expect(checks, "unet.projection_class_embeddings_input_dim", network.added_dim(),
         time_ids * network.added_number_dim(), "fps, motion bucket and noise are its conditions");
  expect(checks, "image_encoder.image_size", encoder.image_size(), encoder_side,
         fmt::format("first images are resized to {0}x{0}", encoder_side));
  if (!encoder.visual_projection) {
    checks.error({"image_encoder", encoder.class_name(), "it has no projection",
                  "use a CLIPVisionModelWithProjection"});
  }
  expect(checks, "image_encoder.projection_dim", encoder.projection_dim(), network.context_dim(),
         "the UNet attends to what it makes");
}

void CheckVideo::check(Checks& checks) const {
  check_parts(checks);
  auto settle = [&](const auto& port, auto value, Origin origin) {
    if (!checks.maybe(port)) checks.settle(port, value, origin);
  };
  settle(num_frames, checks[unet].num_frames(), Origin::model);
  settle(decode_chunk_size, checks[num_frames], Origin::derived);
  settle(output_fps, static_cast<double>(checks[fps]), Origin::derived);
}

void EncodeFirstImages::check(Checks& checks) const {
  const ComponentFolder* component = checks.folder(feature_extractor);
  if (!component) return;  // the plan has said so
  auto processor =
      blocks::read_clip_image_processor(component->config, path_text(component->config_file));
  if (!processor.do_normalize)
    checks.error({"feature_extractor.do_normalize", "false",
                  "the image encoder is given normalised images in any case",
                  "use the feature extractor that the model came with"});
}

}  // namespace omnirt::families
