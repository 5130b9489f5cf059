#include <fmt/format.h>

#include "blocks/clip_image.hpp"
#include "families/svd/blocks.hpp"
#include "networks/clip_vision_model/model.hpp"
#include "networks/unet_spatio_temporal_condition_model/model.hpp"
#include "nn/autoencoder.hpp"
#include "request/proposal.hpp"

namespace omnirt::families {
namespace {

constexpr int64_t encoder_side = 224;  // the side that the reference resizes first pictures to
constexpr int64_t time_ids = 3;

void expect(Proposal& proposal, const char* field, int64_t value, int64_t wanted,
            const std::string& why) {
  if (value == wanted) return;
  proposal.error({field, std::to_string(value), fmt::format("{}, which wants {}", why, wanted),
                  "use the parts of one model"});
}

void check_parts(Proposal& proposal) {
  const auto& unet = proposal.network<UNetSpatioTemporalConditionModel>("unet");
  const auto& encoder = proposal.network<CLIPVisionModel>("image_encoder");
  int64_t latent = proposal.network<nn::Autoencoder>("vae").latent_channels();
  expect(proposal, "unet.in_channels", unet.in_channels(), 2 * latent,
         fmt::format("the autoencoder has {} latent channels, and the UNet takes the first "
                     "image's beside them",
                     latent));
  expect(proposal, "unet.out_channels", unet.out_channels(), latent,
         fmt::format("the autoencoder has {} latent channels", latent));
  expect(proposal, "unet.projection_class_embeddings_input_dim", unet.added_dim(),
         time_ids * unet.added_number_dim(), "fps, motion bucket and noise are told");
  expect(proposal, "image_encoder.image_size", encoder.image_size(), encoder_side,
         fmt::format("first images are resized to {0}x{0}", encoder_side));
  if (!encoder.visual_projection) {
    proposal.error({"image_encoder", encoder.class_name(), "it has no projection",
                    "use a CLIPVisionModelWithProjection"});
  }
  expect(proposal, "image_encoder.projection_dim", encoder.projection_dim(), unet.context_dim(),
         "the UNet attends to what it makes");
}

}  // namespace

void CheckVideo::check(Proposal& proposal) const {
  check_parts(proposal);
  auto settle = [&](const KeyInfo& key, const Json& value, Origin origin) {
    const ConfigValue* given = proposal.config.find(key.name);
    if (!given || given->value.is_null()) proposal.config.set(key.name, value, origin);
  };
  settle(keys::num_frames, proposal.network<UNetSpatioTemporalConditionModel>("unet").num_frames(),
         Origin::model);
  settle(keys::decode_chunk_size, proposal.config.get(keys::num_frames), Origin::derived);
  settle(keys::output_fps, static_cast<double>(proposal.config.get(keys::fps)), Origin::derived);
}

void EncodeFirstPictures::check(Proposal& proposal) const {
  const ComponentFolder* component = proposal.folder.find("feature_extractor");
  if (!component) return;  // the plan has said so
  auto processor =
      blocks::read_clip_image_processor(component->config, component->config_file.string());
  if (!processor.do_normalize)
    proposal.error({"feature_extractor.do_normalize", "false",
                    "the image encoder is given normalised images in any case",
                    "use the feature extractor that the model came with"});
}

}  // namespace omnirt::families
