#include "families/lumina2/entries.hpp"

#include "blocks/shifted_timesteps.hpp"
#include "guiders/row_guidance.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::lumina2 {
namespace {

constexpr const char* id = "lumina-image-2";

ModelSpec entry() {
  ModelSpec made;
  made.maturity = "beta";
  made.id = id;
  made.task = "text2image";
  made.resource_hint = {14, 12};
  made.default_config = {{"num_inference_steps", 30},
                         {"guidance_scale", 4.0},
                         {"max_sequence_length", 256},
                         {guider_keys::cfg_row_normalization.name, 1.0}};
  const Json scheduler = {{"scheduler", "FlowMatchEulerDiscreteScheduler"}};
  made.presets = {{Preset::fast, scheduler}, {Preset::quality, scheduler}};
  made.presets[Preset::fast]["num_inference_steps"] = 20;
  made.presets[Preset::quality]["num_inference_steps"] = 50;
  made.supported_schedulers = blocks::schedulers_that_take_levels();
  made.summary = "Lumina-Image 2.0, 2.6B, under Gemma 2";
  made.example =
      "omnirt generate --model lumina-image-2 --prompt \"a red cup on a table\" -o made.png";
  made.hub_ids = {"Alpha-VLLM/Lumina-Image-2.0"};
  return made;
}

}  // namespace

std::vector<ModelSpec> entries() {
  ModelSpec alias;
  alias.id = "lumina2";
  alias.task = "text2image";
  alias.alias_of = id;
  return {entry(), alias};
}

std::string variant_of(const PipelineFolder& /*folder*/) {
  return id;
}

std::vector<const KeyInfo*> guider_keys() {
  return {&keys::guidance_scale, &omnirt::guider_keys::cfg_row_normalization,
          &omnirt::guider_keys::cfg_trunc_ratio};
}

// Z-Image's layers have the names of the original code, too; what is narrower than any of its own
// is this model's.
std::vector<AdapterFamily> adapter_families() {
  constexpr int64_t hidden_size = 2304;
  return {{.name = "Lumina 2",
           .ids = {id},
           .marks = {{"_feed_forward_linear_1"},
                     {"_feed_forward_w1", hidden_size},
                     {"_attn_to_q", hidden_size},
                     {"_attention_qkv", hidden_size}},
           .metadata = {"lumina2", "lumina-image-2", "lumina_image_2", "Lumina-Image-2"},
           .embedding_widths = {}}};
}

}  // namespace omnirt::lumina2
