#include "families/chroma/entries.hpp"

#include <fmt/format.h>

#include "blocks/shifted_timesteps.hpp"

#include <array>

namespace omnirt::chroma {
namespace {

constexpr const char* hd = "chroma1-hd";

// The reference's defaults differ by task.
struct ChromaTask {
  const char* name;
  const char* inputs;  // of the example
  int64_t steps;
  double guidance_scale;
  double strength;  // 0: none
  int64_t length;   // max_sequence_length
};
constexpr std::array tasks{
    ChromaTask{"text2image", "", 35, 5.0, 0.0, 512},
    ChromaTask{"image2image", " --image in.png", 35, 5.0, 0.9, 512},
    ChromaTask{"inpaint", " --image in.png --mask mask.png", 28, 7.0, 0.6, 256}};

ModelSpec entry(const ChromaTask& task) {
  ModelSpec made;
  made.maturity = "beta";
  made.id = hd;
  made.task = task.name;
  made.resource_hint = {30, 24};
  made.default_config = {{"num_inference_steps", task.steps},
                         {"guidance_scale", task.guidance_scale},
                         {"max_sequence_length", task.length}};
  if (task.strength > 0) made.default_config["strength"] = task.strength;
  Json fast = {{"scheduler", "FlowMatchEulerDiscreteScheduler"}, {"num_inference_steps", 20}};
  made.presets = {{Preset::fast, fast}, {Preset::quality, {{"num_inference_steps", 50}}}};
  made.supported_schedulers = blocks::schedulers_that_take_levels();
  made.summary = "Chroma1 HD, 8.9B: FLUX.1's blocks under T5 alone, with negative prompts";
  made.example =
      fmt::format("omnirt generate --model {}{} --prompt \"a red cup on a table\" -o made.png", hd,
                  task.inputs);
  made.hub_ids = {"lodestones/Chroma1-HD", "lodestones/Chroma1-Base"};
  return made;
}

}  // namespace

std::vector<ModelSpec> entries() {
  std::vector<ModelSpec> all;
  for (const ChromaTask& task : tasks) {
    all.push_back(entry(task));
    ModelSpec alias;
    alias.id = "chroma";
    alias.task = task.name;
    alias.alias_of = hd;
    all.push_back(alias);
  }
  return all;
}

std::string variant_of(const PipelineFolder& /*folder*/) {
  return hd;
}

// FLUX.1's blocks have the same names: adapters that change these alone fit both.
std::vector<AdapterFamily> adapter_families() {
  return {{.name = "Chroma",
           .ids = {hd},
           .marks = {{"distilled_guidance_layer"},
                     {"denoiser:double_blocks_"},
                     {"denoiser:single_blocks_"},
                     {"denoiser:single_transformer_blocks_"},
                     {"_attn_add_q_proj"}},
           .metadata = {"chroma", "Chroma"},
           .embedding_widths = {}}};
}

}  // namespace omnirt::chroma
