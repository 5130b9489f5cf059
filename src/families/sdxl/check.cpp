#include "families/sdxl/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "networks/clip_text_model/model.hpp"
#include "networks/unet_2d_condition_model/model.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/keys.hpp"
#include "request/latent_grid.hpp"
#include "request/proposal.hpp"

namespace omnirt::families {
namespace {

bool wants_score(const Proposal& proposal) {
  return proposal.folder.index.value("requires_aesthetics_score", Json(false)) == true;
}

// The UNet's embedding of numbers is as wide as what it is told: the pooled text and 6 numbers, or
// 5 with an aesthetic score.
void check_numbers(Proposal& proposal) {
  const auto& unet = proposal.network<UNet2DConditionModel>("unet");
  if (!unet.add_embedding) {
    proposal.error({"unet.addition_embed_type", "null",
                    "a UNet of Stable Diffusion XL takes sizes and a pooled text (text_time)",
                    "use the UNet of such a model"});
    return;
  }
  int64_t numbers = wants_score(proposal) ? 5 : 6;
  int64_t text = proposal.network<CLIPTextModelWithProjection>("text_encoder_2").projection_dim();
  int64_t made = numbers * unet.added_number_dim() + text, taken = unet.added_dim();
  if (made == taken) return;
  proposal.error({"unet.projection_class_embeddings_input_dim", std::to_string(taken),
                  fmt::format("{} numbers and a pooled text of {} make {}", numbers, text, made),
                  "set requires_aesthetics_score in model_index.json as the UNet wants it, and use "
                  "the text_encoder_2 of the same model"});
}

void check_prompts(Proposal& proposal) {
  auto given = proposal.texts.find("negative_prompt_2");
  if (given == proposal.texts.end() || proposal.texts.contains("negative_prompt") ||
      !proposal.config.get(keys::force_zeros_for_empty_prompt))
    return;
  proposal.warn({"inputs.negative_prompt_2", given->second.front(),
                 "has no effect: without negative_prompt this model takes zeros for both",
                 "give negative_prompt too, or set force_zeros_for_empty_prompt to false"});
}

void take_index(Proposal& proposal) {
  const Json& index = proposal.folder.index;
  const KeyInfo& key = keys::force_zeros_for_empty_prompt;
  const ConfigValue* value = proposal.config.find(key.name);
  bool open = !value || value->origin == Origin::fallback;
  if (open && index.contains(key.name) && index[key.name].is_boolean())
    proposal.config.set(key.name, index[key.name], Origin::model);
  if (index.value("add_watermarker", Json()) == true) {
    proposal.warn({"model.add_watermarker", "true", "this build writes no invisible watermark",
                   "add one to the images afterwards where it is wanted"});
  }
}

// The latents say where the walk that made them ended.
void check_hand_over(Proposal& proposal, const LatentsInput& given) {
  Json request = given.info.origin.value("request", Json::object());
  Json config = request.is_object() ? request.value("config", Json::object()) : Json::object();
  if (!config.is_object() || !config.contains("denoising_end")) return;
  const Json& end = config["denoising_end"];
  auto start = proposal.config.maybe(keys::denoising_start);
  if (!end.is_number() || (start && *start == end.get<double>())) return;
  proposal.warn(
      {"config.denoising_start", start ? fmt::format("{}", *start) : "unset",
       fmt::format("the latents of {} were made with denoising_end {}", given.path,
                   end.get<double>()),
       fmt::format("give {}, and the noise that is left is taken away", end.get<double>())});
}

void settle_side(Proposal& proposal, const Key<int64_t>& key, int64_t side) {
  auto given = proposal.config.maybe(key);
  if (given && *given != side) {
    proposal.error({fmt::format("config.{}", key.name), std::to_string(*given),
                    fmt::format("the latents make an image of {}", side),
                    "remove it: latents are not resized"});
  } else if (side > static_cast<int64_t>(key.max)) {
    proposal.error({"inputs.latents", std::to_string(side),
                    fmt::format("more than {} pixels", key.max), "give smaller ones"});
  } else {
    proposal.config.set(key.name, side, Origin::derived);
  }
}

}  // namespace

void CheckXL::check(Proposal& proposal) const {
  take_index(proposal);
  check_numbers(proposal);
  check_prompts(proposal);
  if (proposal.task == "text2image" && wants_score(proposal)) {
    proposal.error({"task", proposal.task, "a refiner changes images, and makes none from noise",
                    "give inputs.image, or inputs.latents of a base model"});
  }
}

void SizeOfLatents::check(Proposal& proposal) const {
  auto given = proposal.latents.find("latents");
  if (given == proposal.latents.end()) return;
  const std::vector<int64_t>& shape = given->second.info.shape;
  int64_t grid = pixels_per_latent(proposal);
  settle_side(proposal, keys::width, shape[3] * grid);
  settle_side(proposal, keys::height, shape[2] * grid);
  int64_t channels = proposal.network<nn::Autoencoder>("vae").latent_channels();
  if (shape[1] != channels) {
    proposal.error({"inputs.latents", fmt::format("{{{}}}", fmt::join(shape, ", ")),
                    fmt::format("the autoencoder has {} latent channels", channels),
                    "give latents of a model of the same family"});
  }
  auto pictures = static_cast<int64_t>(proposal.texts_of("prompt").size()) *
                  proposal.config.get(keys::num_images_per_prompt);
  if (pictures % shape[0] != 0) {
    proposal.error({"inputs.latents", fmt::format("{} of them", shape[0]),
                    fmt::format("the request makes {} images", pictures),
                    "give one for all, or one per image"});
  }
  check_hand_over(proposal, given->second);
}

}  // namespace omnirt::families
