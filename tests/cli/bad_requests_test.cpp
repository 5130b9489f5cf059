// Requests and files that cannot be served: each ends with exit code 2 and a message that names
// what is wrong, and leaves nothing behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/json.hpp"
#include "cli/program.hpp"
#include "io/file.hpp"
#include "io/image.hpp"
#include "source_paths.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

// A request as JSON, and what the message must hold.
struct BadRequest {
  const char* name;
  const char* json;
  std::vector<const char*> told;
};

// How test listings name a case.
void PrintTo(const BadRequest& bad, std::ostream* out) {
  *out << bad.name;
}

const std::vector<BadRequest>& bad_requests() {
  static const std::vector<BadRequest> all{
      {"empty_object", R"({})", {"inputs.prompt", "missing"}},
      {"not_an_object", R"([1, 2])", {"an object is expected"}},
      {"not_json", R"({"task": )", {"not valid JSON"}},
      {"key_twice", R"({"task": "text2image", "task": "inpaint"})", {"task", "twice"}},
      {"cache_branch_too_deep",
       R"({"model": "emoji-sd", "inputs": {"prompt": "x"}, "config": {"cache": "deep", "cache_branch": 6}})",
       {"config.cache_branch", "6", "0 to 5"}},
      {"cache_unknown",
       R"({"model": "emoji-sd", "inputs": {"prompt": "x"}, "config": {"cache": "shallow"}})",
       {"config.cache", "shallow", "deep"}},
      {"unknown_field", R"({"inputz": {}})", {"inputz", "unknown request field", "inputs"}},
      {"task_a_number", R"({"task": 3, "inputs": {"prompt": "x"}})", {"task", "3"}},
      {"task_unknown",
       R"({"task": "text2img", "inputs": {"prompt": "x"}})",
       {"task", "text2img", "text2image"}},
      {"task_of_another_family",
       R"({"task": "text2video", "inputs": {"prompt": "x"}})",
       {"task", "text2video"}},
      {"model_unknown",
       R"({"model": "emojy", "inputs": {"prompt": "x"}})",
       {"model", "emojy", "emoji"}},
      {"model_no_folder",
       R"({"model": "./nowhere", "inputs": {"prompt": "x"}})",
       {"nowhere", "no such folder"}},
      {"model_a_file",
       R"({"model": "/etc/hostname", "inputs": {"prompt": "x"}})",
       {"/etc/hostname", "not a safetensors file"}},
      {"model_an_empty_folder",
       R"({"model": "/usr/include", "inputs": {"prompt": "x"}})",
       {"model_index.json"}},
      {"backend_unknown",
       R"({"backend": "cuda9", "inputs": {"prompt": "x"}})",
       {"backend", "cuda9"}},
      {"prompt_missing", R"({"inputs": {"negative_prompt": "x"}})", {"inputs.prompt", "missing"}},
      {"prompt_a_number", R"({"inputs": {"prompt": 4}})", {"inputs.prompt", "4", "text"}},
      {"prompt_an_empty_list", R"({"inputs": {"prompt": []}})", {"inputs.prompt"}},
      {"prompt_a_mixed_list", R"({"inputs": {"prompt": ["a", 1]}})", {"inputs.prompt"}},
      {"negative_count",
       R"({"model": "emoji-sd", "inputs": {"prompt": ["a", "b"], "negative_prompt": ["c", "d", "e"]}})",
       {"inputs.negative_prompt", "3", "2"}},
      {"input_unknown", R"({"inputs": {"prompt": "x", "promt": "y"}})", {"inputs.promt", "prompt"}},
      {"image_missing_file",
       R"({"inputs": {"prompt": "x", "image": "/nowhere/in.png"}})",
       {"inputs.image", "/nowhere/in.png"}},
      {"image_a_folder",
       R"({"inputs": {"prompt": "x", "image": "/tmp"}})",
       {"inputs.image", "/tmp"}},
      {"image_a_text_file",
       R"({"inputs": {"prompt": "x", "image": "/etc/hostname"}})",
       {"inputs.image"}},
      {"image_a_number", R"({"inputs": {"prompt": "x", "image": 7}})", {"inputs.image", "7"}},
      {"task_needs_image",
       R"({"model": "emoji-sd", "task": "image2image", "inputs": {"prompt": "x"}})",
       {"inputs.image", "missing"}},
      {"task_takes_no_image",
       R"({"model": "emoji-sd", "task": "text2image", "inputs": {"prompt": "x", "image": "IMAGE"}})",
       {"inputs.image", "does not take", "image2image"}},
      {"mask_without_image", R"({"inputs": {"prompt": "x", "mask": "MASK"}})", {"mask"}},
      {"mask_of_another_size",
       R"({"model": "emoji-sd", "inputs": {"prompt": "x", "image": "IMAGE", "mask": "SMALL"}})",
       {"inputs.mask", "16x16", "32x32"}},
      {"steps_zero",
       R"({"inputs": {"prompt": "x"}, "config": {"num_inference_steps": 0}})",
       {"config.num_inference_steps", "0", "1 to 1000"}},
      {"steps_negative",
       R"({"inputs": {"prompt": "x"}, "config": {"num_inference_steps": -5}})",
       {"config.num_inference_steps", "-5", "1 to 1000"}},
      {"steps_huge",
       R"({"inputs": {"prompt": "x"}, "config": {"num_inference_steps": 1e18}})",
       {"config.num_inference_steps"}},
      {"steps_a_text",
       R"({"inputs": {"prompt": "x"}, "config": {"num_inference_steps": "abc"}})",
       {"config.num_inference_steps", "abc", "whole number"}},
      {"steps_a_fraction",
       R"({"inputs": {"prompt": "x"}, "config": {"num_inference_steps": 2.5}})",
       {"config.num_inference_steps", "2.5"}},
      {"width_one",
       R"({"model": "emoji-sd", "inputs": {"prompt": "x"}, "config": {"width": 1, "height": 1}})",
       {"config.width", "config.height", "8 to 8192"}},
      {"width_8193",
       R"({"model": "emoji-sd", "inputs": {"prompt": "x"}, "config": {"width": 8193, "height": 8}})",
       {"config.width", "8193"}},
      {"width_off_grid",
       R"({"model": "emoji-sd", "inputs": {"prompt": "x"}, "config": {"width": 100}})",
       {"config.width", "100", "96 or 104"}},
      {"width_overflow",
       R"({"inputs": {"prompt": "x"}, "config": {"width": 99999999999999999999}})",
       {"config.width"}},
      {"width_null_bool",
       R"({"inputs": {"prompt": "x"}, "config": {"width": true}})",
       {"config.width", "true"}},
      {"seed_negative",
       R"({"inputs": {"prompt": "x"}, "config": {"seed": -2}})",
       {"config.seed", "-2"}},
      {"seed_a_text",
       R"({"inputs": {"prompt": "x"}, "config": {"seed": "one"}})",
       {"config.seed", "one"}},
      {"guidance_nan",
       R"({"inputs": {"prompt": "x"}, "config": {"guidance_scale": "NaN"}})",
       {"config.guidance_scale"}},
      {"guidance_bare_nan",
       R"({"inputs": {"prompt": "x"}, "config": {"guidance_scale": NaN}})",
       {"JSON"}},
      {"guidance_huge",
       R"({"model": "emoji-sd", "inputs": {"prompt": "x"}, "config": {"guidance_scale": 1e308}})",
       {"config.guidance_scale", "100"}},
      {"rescale_above_one",
       R"({"model": "emoji-sd", "inputs": {"prompt": "x"}, "config": {"guidance_rescale": 2}})",
       {"config.guidance_rescale"}},
      {"images_zero",
       R"({"inputs": {"prompt": "x"}, "config": {"num_images_per_prompt": 0}})",
       {"config.num_images_per_prompt"}},
      {"images_too_many",
       R"({"inputs": {"prompt": ["a","b","c","d","e"]}, "config": {"num_images_per_prompt": 64}})",
       {"config.num_images_per_prompt", "320", "256"}},
      {"strength_out_of_range",
       R"({"model": "emoji-sd", "inputs": {"prompt": "x", "image": "IMAGE"}, "config": {"strength": 1.5}})",
       {"config.strength", "1.5", "0 to 1"}},
      {"strength_leaves_no_step",
       R"({"model": "emoji-sd", "inputs": {"prompt": "x", "image": "IMAGE"}, "config": {"strength": 0.01}})",
       {"config.strength", "0.01"}},
      {"scheduler_unknown",
       R"({"inputs": {"prompt": "x"}, "config": {"scheduler": "euler-discreet"}})",
       {"config.scheduler", "euler-discreet", "euler-discrete"}},
      {"scheduler_a_number",
       R"({"inputs": {"prompt": "x"}, "config": {"scheduler": 5}})",
       {"config.scheduler"}},
      {"scheduler_value",
       R"({"model": "emoji-sd", "inputs": {"prompt": "x"}, "config": {"scheduler_config": {"beta_schedule": "cubic"}}})",
       {"beta_schedule", "cubic"}},
      {"scheduler_config_a_list",
       R"({"inputs": {"prompt": "x"}, "config": {"scheduler_config": [1]}})",
       {"config.scheduler_config"}},
      {"clip_skip_too_many",
       R"({"model": "emoji-sd", "inputs": {"prompt": "x"}, "config": {"clip_skip": 3}})",
       {"config.clip_skip", "3"}},
      {"dtype_unknown",
       R"({"inputs": {"prompt": "x"}, "config": {"dtype": "fp64"}})",
       {"config.dtype", "fp64", "fp32"}},
      {"preset_unknown",
       R"({"inputs": {"prompt": "x"}, "config": {"preset": "faster"}})",
       {"config.preset", "faster"}},
      {"output_in_no_folder",
       R"({"inputs": {"prompt": "x"}, "config": {"output": "/dev/null/at/all.png"}})",
       {"config.output", "/dev/null"}},
      {"output_of_unknown_kind",
       R"({"inputs": {"prompt": "x"}, "config": {"output": "/tmp/x.tiff"}})",
       {"tiff"}},
      {"output_disagrees",
       R"({"inputs": {"prompt": "x"}, "config": {"output": "/tmp/x.png", "output_format": "webp"}})",
       {"config.output_format", "webp"}},
      {"guider_without_type",
       R"({"inputs": {"prompt": "x"}, "guider": {"guidance_scale": 3}})",
       {"guider.type"}},
      {"guider_unknown",
       R"({"inputs": {"prompt": "x"}, "guider": {"type": "cgf"}})",
       {"guider.type", "cgf", "cfg"}},
      {"guider_and_scale",
       R"({"model": "emoji-sd", "inputs": {"prompt": "x"}, "guider": {"type": "cfg"}, "config": {"guidance_scale": 3}})",
       {"config.guidance_scale", "guider"}},
      {"adapter",
       R"({"inputs": {"prompt": "x"}, "adapters": [{"kind": "lora", "path": "a.safetensors"}]})",
       {"adapters[0]", "no such adapter"}},
      {"component_unknown",
       R"({"inputs": {"prompt": "x"}, "components": {"controlnet": "/tmp"}})",
       {"components.controlnet"}},
      {"component_no_folder",
       R"({"inputs": {"prompt": "x"}, "components": {"vae": "/nowhere"}})",
       {"components.vae", "/nowhere"}},
      {"component_of_another_class",
       R"({"model": "emoji-sd", "inputs": {"prompt": "x"}, "components": {"vae": "TEXT_ENCODER"}})",
       {"components.vae", "CLIPTextModel", "autoencoder"}},
  };
  return all;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (size_t at; (at = text.find('"' + what + '"')) != std::string::npos;)
    text.replace(at + 1, what.size(), with);
  return text;
}

void write_picture(const fs::path& path, int64_t side) {
  io::write_image(path, io::Image::zeros(side, side, 3));
}

class BadRequests : public ::testing::TestWithParam<BadRequest> {};

TEST_P(BadRequests, EndsWithTwoNamesWhatIsWrongAndLeavesNothing) {
  Scratch inputs, outputs;
  write_picture(inputs.path() / "in.png", 32);
  write_picture(inputs.path() / "small.png", 16);
  std::string json = GetParam().json;
  json = replaced(json, "IMAGE", inputs.file("in.png"));
  json = replaced(json, "MASK", inputs.file("in.png"));
  json = replaced(json, "SMALL", inputs.file("small.png"));
  json = replaced(json, "TEXT_ENCODER", source_path("models/emoji-sd/text_encoder").string());
  Ended ended = run_program({"generate", "-f", "-", "--output-dir", outputs.path().string()}, json);
  EXPECT_EQ(ended.exit_code, 2) << ended.err;
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("error: "));
  for (const char* told : GetParam().told) EXPECT_THAT(ended.err, HasSubstr(told));
  EXPECT_TRUE(outputs.names().empty());
}

INSTANTIATE_TEST_SUITE_P(Table, BadRequests, ::testing::ValuesIn(bad_requests()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(BadRequest, AHundredThousandLevelsOfJsonAreRefused) {
  for (const std::string& text : {std::string(100000, '['), std::string(100000, '{') + "}"}) {
    Ended ended = run_program({"generate", "-f", "-"}, text);
    EXPECT_EQ(ended.exit_code, 2);
    EXPECT_THAT(ended.err, HasSubstr("error: "));
  }
}

TEST(BadRequest, AYamlOfAliasesThatGrowsWithoutBoundIsRefused) {
  std::string yaml = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    std::string before = "*a" + std::to_string(i - 1), list = before;
    for (int k = 0; k < 9; ++k) list += ", " + before;
    yaml += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + list + "]\n";
  }
  Ended ended = run_program({"generate", "-f", "-"}, yaml);
  EXPECT_EQ(ended.exit_code, 2);
}

TEST(BadRequest, AllFindingsAreToldTogether) {
  Ended ended = run_program({"generate", "-f", "-"},
                            R"({"model": "emoji-sd", "inputs": {"prompt": "x", "colour": "red"},
                                "config": {"num_inference_steps": 0, "width": 1, "guidance_scale": -3}})");
  EXPECT_EQ(ended.exit_code, 2);
  for (const char* told :
       {"inputs.colour", "config.num_inference_steps", "config.width", "guidance_scale"}) {
    EXPECT_THAT(ended.err, HasSubstr(told));
  }
}

TEST(BadRequest, AnUnknownFlagIsRefused) {
  Ended ended = run_program({"generate", "--promt", "x"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr("--promt"));
}

TEST(BadRequest, AnUnknownConfigKeyIsAWarningAndStrictMakesItAnError) {
  std::string json = R"({"inputs": {"prompt": "x"}, "config": {"stepz": 3}})";
  Ended lenient = run_program({"validate", "-f", "-"}, json);
  EXPECT_EQ(lenient.exit_code, 0);
  EXPECT_THAT(lenient.err, HasSubstr("warning: config.stepz"));
  Ended strict = run_program({"validate", "-f", "-", "--strict"}, json);
  EXPECT_EQ(strict.exit_code, 2);
  EXPECT_THAT(strict.err, HasSubstr("error: config.stepz"));
}

TEST(BadRequest, APromptThatIsNotUtf8IsRefused) {
  Ended ended = run_program({"generate", "--prompt", "caf\xe9"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr("UTF-8"));
}

// Every file of a run embeds its request; what such a text may hold is less than a prompt.
TEST(BadRequest, APromptThatNoFileCanCarryIsRefusedBeforeTheRun) {
  Scratch outputs;
  const Json request{{"inputs", {{"prompt", std::string(1'048'000, '"')}}}};
  Ended ended =
      run_program({"generate", "-f", "-", "--output-dir", outputs.path().string()}, request.dump());
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr("each file carries the request"));
  EXPECT_THAT(ended.err, Not(HasSubstr("step 1/")));
  EXPECT_TRUE(outputs.names().empty());
  Ended without = run_program({"validate", "-f", "-", "--metadata", "none"}, request.dump());
  EXPECT_THAT(without.err, Not(HasSubstr("each file carries")));
}

// A copy of the small Stable Diffusion with one file of one component replaced.
class BrokenModel : public Scratch {
 public:
  BrokenModel() {
    fs::copy(source_path("models/emoji-sd"), path() / "model", fs::copy_options::recursive);
  }
  std::string vae() const {
    return (path() / "model/vae/diffusion_pytorch_model.safetensors").string();
  }
  Ended generate() const {
    return run_program(
        {"generate", "--model", (path() / "model").string(), "--prompt", "x", "-o", file("x.png")});
  }
};

// Renames a tensor in a safetensors header, keeping the length.
void patch(const std::string& file, const std::string& from, const std::string& to) {
  std::string bytes = io::read_file(file, size_t{64} << 20);
  size_t at = bytes.find(from);
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, from.size(), to);
  io::write_file(file, bytes);
}

TEST(BrokenCheckpoint, MissingAndUnexpectedTensorsAreToldTogether) {
  BrokenModel model;
  patch(model.vae(), "decoder.layers.0.bias", "decoder.layers.0.bios");
  Ended ended = model.generate();
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr("decoder.layers.0.bias"));
  EXPECT_THAT(ended.err, HasSubstr("decoder.layers.0.bios"));
  EXPECT_THAT(ended.err, HasSubstr("missing"));
  EXPECT_THAT(ended.err, HasSubstr("unexpected"));
  EXPECT_FALSE(fs::exists(model.file("x.png")));
}

TEST(BrokenCheckpoint, ATransposedTensorIsRefusedWithBothShapes) {
  BrokenModel model;
  patch(model.vae(), "[64,32,3,3]", "[32,64,3,3]");
  Ended ended = model.generate();
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr("[32, 64, 3, 3]"));
  EXPECT_THAT(ended.err, HasSubstr("[64, 32, 3, 3]"));
}

TEST(BrokenCheckpoint, ATextFileNamedSafetensorsIsRefused) {
  BrokenModel model;
  std::ofstream(model.vae()) << "version https://git-lfs.github.com/spec/v1\n";
  Ended ended = model.generate();
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr("diffusion_pytorch_model.safetensors"));
}

TEST(BrokenCheckpoint, ATruncatedFileIsRefused) {
  BrokenModel model;
  fs::resize_file(model.vae(), 100000);
  Ended ended = model.generate();
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr("diffusion_pytorch_model.safetensors"));
}

TEST(BrokenCheckpoint, AConfigValueThatIsNotImplementedIsRefusedByNameAndValue) {
  BrokenModel model;
  patch((model.path() / "model/unet/config.json").string(), "\"DownBlock2D\"", "\"DawnBlock2D\"");
  Ended ended = model.generate();
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr("down_block_types"));
  EXPECT_THAT(ended.err, HasSubstr("DawnBlock2D"));
}

}  // namespace
}  // namespace omnirt::testing
