#include "blocks/parameters_text.hpp"

#include <gtest/gtest.h>

namespace omnirt::blocks {
namespace {

TEST(ParametersText, SaysTheRequestInTheWordsOfA1111) {
  const Json record = Json::parse(R"({
    "model": "/models/dream, shaper.safetensors",
    "inputs": {"prompt": "a house", "negative_prompt": "gray\tsky", "image": "/home/me/in.png"},
    "config": {"num_inference_steps": 20, "scheduler": "DPMSolverMultistepScheduler",
               "scheduler_config": {"use_karras_sigmas": true, "algorithm_type": "sde-dpmsolver++"},
               "guidance_scale": 7.5, "seed": 3, "width": 512, "height": 640, "strength": 0.6,
               "clip_skip": 1},
    "adapters": [{"path": "/loras/style.safetensors", "scale": 0.8},
                 {"path": "by_block.safetensors", "scale": {"unet": 1}}]})");
  EXPECT_EQ(parameters_text(record),
            "a house <lora:style:0.8>\n"
            "Negative prompt: gray sky\n"
            "Steps: 20, Sampler: DPM++ 2M SDE, Schedule type: Karras, CFG scale: 7.5, Seed: 3, "
            "Size: 512x640, Model: \"dream, shaper.safetensors\", Denoising strength: 0.6, "
            "Clip skip: 2, Version: OmniRT");
}

TEST(ParametersText, LeavesOutWhatARequestHasNot) {
  const Json record = {{"model", "emoji"},
                       {"inputs", {{"prompt", "an apple"}}},
                       {"config",
                        {{"num_inference_steps", 8},
                         {"scheduler", "FlowMatchEulerDiscreteScheduler"},
                         {"guidance_scale", 1.0},
                         {"clip_skip", 0},
                         {"seed", 9007199254740991}}}};
  EXPECT_EQ(parameters_text(record),
            "an apple\nSteps: 8, Sampler: Euler, CFG scale: 1, Seed: 9007199254740991, "
            "Model: emoji, Version: OmniRT");
}

}  // namespace
}  // namespace omnirt::blocks
