#include <fmt/format.h>

#include "families/svd/blocks.hpp"
#include "pipeline/blocks/clip_image.hpp"
#include "pipeline/proposal.hpp"

namespace omnirt::families {
namespace {

constexpr int64_t encoder_side = 224;  // the side that the reference resizes first pictures to
constexpr int64_t time_ids = 3;

int64_t number(const Json& config, const char* key, int64_t fallback) {
  return config.contains(key) && config[key].is_number_integer() ? config[key].get<int64_t>()
                                                                 : fallback;
}

void expect(Proposal& proposal, const char* field, int64_t value, int64_t wanted,
            const std::string& why) {
  if (value == wanted) return;
  proposal.error({field, std::to_string(value), fmt::format("{}, which wants {}", why, wanted),
                  "use the parts of one model"});
}

void check_parts(Proposal& proposal) {
  const Json& unet = proposal.component_config("unet");
  const Json& encoder = proposal.component_config("image_encoder");
  int64_t latent = number(proposal.component_config("vae"), "latent_channels", 4);
  expect(proposal, "unet.in_channels", number(unet, "in_channels", 8), 2 * latent,
         fmt::format("the autoencoder has {} latent channels, and the UNet takes the first "
                     "image's beside them",
                     latent));
  expect(proposal, "unet.out_channels", number(unet, "out_channels", 4), latent,
         fmt::format("the autoencoder has {} latent channels", latent));
  int64_t each = number(unet, "addition_time_embed_dim", 256);
  expect(proposal, "unet.projection_class_embeddings_input_dim",
         number(unet, "projection_class_embeddings_input_dim", 768), time_ids * each,
         "fps, motion bucket and noise are told");
  // The defaults of transformers' CLIPVisionConfig.
  expect(proposal, "image_encoder.image_size", number(encoder, "image_size", 224), encoder_side,
         fmt::format("first images are resized to {0}x{0}", encoder_side));
  if (!unet.contains("cross_attention_dim") || unet["cross_attention_dim"].is_number_integer())
    expect(proposal, "image_encoder.projection_dim", number(encoder, "projection_dim", 512),
           number(unet, "cross_attention_dim", 1024), "the UNet attends to what it makes");
}

}  // namespace

void CheckVideo::check(Proposal& proposal) const {
  check_parts(proposal);
  auto settle = [&](const KeyInfo& key, const Json& value, Origin origin) {
    const ConfigValue* given = proposal.config.find(key.name);
    if (!given || given->value.is_null()) proposal.config.set(key.name, value, origin);
  };
  settle(keys::num_frames, number(proposal.component_config("unet"), "num_frames", 25),
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
