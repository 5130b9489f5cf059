// Pairs of options over the transformers of flow matching, beside what their goldens ask for: each
// is run, or refused before any weight is read by findings that name the field and the way out.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>
#include <set>

#include "base/error.hpp"
#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;

constexpr size_t pairs = 800, groups = 8;
constexpr uint32_t seed = 15;

// Each changes a request as a JSON merge patch does (RFC 7396).
const Json& options() {
  static const Json all = parse_json(R"([
    {"config": {"width": 64, "height": 32}}, {"config": {"width": 48, "height": 40}},
    {"config": {"width": 50}}, {"config": {"num_inference_steps": 1}},
    {"config": {"num_inference_steps": 3}}, {"config": {"num_images_per_prompt": 2}},
    {"inputs": {"prompt": ["a red apple", "the sea"]}}, {"inputs": {"prompt": ""}},
    {"inputs": {"negative_prompt": "for all people"}}, {"config": {"guidance_scale": 1.0}},
    {"config": {"guidance_scale": 4.5}}, {"config": {"guidance_rescale": 0.5}},
    {"guider": {"type": "cfg_zero_star"}}, {"guider": {"type": "apg", "guidance_scale": 3.0}},
    {"guider": {"type": "pag"}}, {"guider": {"type": "slg"}},
    {"guider": {"type": "seg"}}, {"guider": {"type": "tcfg"}}, {"guider": {"type": "autoguidance"}},
    {"guider": {"type": "none_such"}},
    {"config": {"cache": "first_block"}}, {"config": {"cache": "deep"}},
    {"config": {"cache": "taylorseer", "disable_cache_before_step": 1}},
    {"config": {"cache": "mag", "cache_ratios": [1, 1, 1, 1]}},
    {"config": {"scheduler": "FlowMatchLCMScheduler"}},
    {"config": {"scheduler": "FlowMatchHeunDiscreteScheduler"}},
    {"config": {"scheduler": "EulerDiscreteScheduler"}},
    {"config": {"scheduler": "DPMSolverMultistepScheduler",
                "scheduler_config": {"use_flow_sigmas": true, "prediction_type": "flow_prediction"}}},
    {"config": {"scheduler": "UniPCMultistepScheduler"}},
    {"config": {"scheduler_config": {"shift": 2.0, "use_dynamic_shifting": false}}},
    {"config": {"sigmas": [1.0, 0.6, 0.3]}}, {"config": {"timesteps": [900, 500, 200]}},
    {"config": {"vae_tiling": true, "vae_tile_size": 32}},
    {"config": {"memory_budget": "1GB"}}, {"config": {"memory_budget": "1KB"}},
    {"config": {"offload": "component"}}, {"config": {"offload": "group"}},
    {"config": {"offload": "leaf"}}, {"config": {"release_components": true}},
    {"config": {"storage_dtype": "float8_e4m3fn"}}, {"config": {"quantize": "int8"}},
    {"config": {"dtype": "bf16"}}, {"config": {"dtype": "fp16"}},
    {"config": {"matmul_precision": "medium"}}, {"config": {"level": "eager"}},
    {"config": {"max_batch_rows": 1}}, {"config": {"max_sequence_length": 16}},
    {"config": {"output_type": "latent"}}, {"config": {"output_format": "webp"}},
    {"config": {"preview_every": 1}}, {"config": {"strength": 0.5}},
    {"config": {"image_fit": "crop"}}, {"config": {"mask_blur": 2}},
    {"config": {"padding_mask_crop": 4}}, {"config": {"hires_scale": 2}},
    {"config": {"window_size": 64}}, {"config": {"clip_skip": 1}}, {"config": {"eta": 0.5}},
    {"config": {"prompt_syntax": "a1111"}}, {"config": {"profile": true}},
    {"config": {"no_such_key": 1}}, {"adapters": ["no-such-adapter"]}
  ])",
                                     "options");
  return all;
}

// Runs of goldens of the families, by their folders.
std::vector<fs::path> bases() {
  std::vector<fs::path> found;
  const fs::path goldens = source_path("tests/goldens");
  const std::set<std::string> older{"sd15", "sd2", "sdxl"};
  auto add = [&](const fs::path& family) {
    for (const auto& run : fs::directory_iterator(family)) {
      if (fs::exists(run.path() / "request.json")) found.push_back(run.path());
    }
  };
  for (const auto& family : fs::directory_iterator(goldens / "pipelines")) {
    const fs::path index = family.path() / "model" / "model_index.json";
    if (!fs::exists(index)) continue;
    if (read_json_file(index).contains("transformer")) add(family.path());
  }
  for (const auto& family : fs::directory_iterator(goldens / "control")) {
    const std::string name = family.path().filename();
    if (family.is_directory() && !older.contains(name)) add(family.path());
  }
  std::ranges::sort(found);
  return found;
}

struct Case {
  fs::path base;
  Json first, second;

  std::string text() const {
    return base.parent_path().filename().string() + "/" + base.filename().string() + " with " +
           first.dump() + " and " + second.dump();
  }
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::mt19937 draw(seed);
    auto one_of = [&](const auto& list) { return list[draw() % list.size()]; };
    const auto from = bases();
    std::vector<Case> made;
    for (size_t i = 0; i < pairs; ++i)
      made.push_back({from[i % from.size()], one_of(options()), one_of(options())});
    return made;
  }();
  return all;
}

void patch(GenerateRequest& request, const Json& change) {
  auto part = [&](const char* name, Json& target) {
    if (change.contains(name)) target.merge_patch(change[name]);
  };
  part("inputs", request.inputs);
  part("config", request.config);
  part("guider", request.guider);
  if (change.contains("adapters")) request.adapters = change["adapters"];
}

// Whether it ran.
bool runs_or_is_refused(const Case& one) {
  const TemporaryFolder folder;
  GenerateRequest request = folder_request(one.base);
  request.config["preview_dir"] = folder.path().string();
  patch(request, one.first);
  patch(request, one.second);
  Outcome outcome;
  try {
    outcome = run(std::move(request));
  } catch (const InvalidRequest& refused) {
    EXPECT_TRUE(outcome.latents_after.empty());
    EXPECT_FALSE(refused.findings().empty());
    for (const Finding& finding : refused.findings()) {
      EXPECT_FALSE(finding.field.empty()) << finding.text();
      EXPECT_FALSE(finding.message.empty()) << finding.text();
    }
    return false;
  }
  EXPECT_FALSE(outcome.latents_after.empty());
  if (outcome.image.defined()) EXPECT_TRUE(outcome.image.isfinite().all().item<bool>());
  return true;
}

class OptionPairs : public ::testing::TestWithParam<size_t> {};

TEST_P(OptionPairs, AreRunOrRefusedByName) {
  size_t ran = 0, all = 0;
  for (size_t i = GetParam(); i < cases().size(); i += groups, ++all) {
    SCOPED_TRACE(cases()[i].text());
    EXPECT_NO_THROW(ran += runs_or_is_refused(cases()[i]));
  }
  std::cout << ran << " of " << all << " were run, the others refused\n";
  EXPECT_GT(ran * 4, all);
}

INSTANTIATE_TEST_SUITE_P(All, OptionPairs, ::testing::Range(size_t{0}, groups));

}  // namespace
}  // namespace omnirt::testing
