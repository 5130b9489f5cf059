// Models written as fp8 and int8 with scales: their images next to those of the weights themselves.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/error.hpp"
#include "catalogue/catalogue.hpp"
#include "catalogue/support.hpp"
#include "engine/convert.hpp"
#include "engine/session.hpp"
#include "io/safetensors_writer.hpp"
#include "io/temp_folder.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::HasSubstr;

const Catalogue& scaled_catalogue() {
  static const Catalogue built = builtin_catalogue();
  return built;
}

GenerateRequest emoji_request(const std::string& model) {
  GenerateRequest request;
  request.model = source_path("models/" + model).string();
  request.inputs["prompt"] = "a red apple";
  request.config = {{"seed", 1}};
  return request;
}

struct WrittenComponent {
  const char *model, *component, *type, *quantize;
  double psnr;  // dB; measured about 3 more
};

class ConvertToScaled : public ::testing::TestWithParam<WrittenComponent> {};

TEST_P(ConvertToScaled, KeepsTheImage) {
  const auto& [model, component, type, quantize, least] = GetParam();
  TempFolder temp;
  GenerateRequest request = emoji_request(model);
  const at::Tensor image = run(request).image;
  fs::path file = temp / "weights.safetensors";
  Json told =
      convert(scaled_catalogue(), {fs::path(request.model) / component, file, "", "", {}, type});
  EXPECT_GT(told["types"][type == std::string("fp8") ? "fp8 scaled" : "int8 scaled"], 20);
  request.components[component] = file.string();
  request.config["quantize"] = quantize;
  EXPECT_GT(psnr(run(request).image, image, 1.0), least);
}

INSTANTIATE_TEST_SUITE_P(
    Components, ConvertToScaled,
    ::testing::Values(WrittenComponent{"emoji", "transformer", "fp8", "auto", 49},
                      WrittenComponent{"emoji", "transformer", "int8_convrot", "none", 55},
                      WrittenComponent{"emoji", "transformer", "int8_convrot", "auto", 54},
                      WrittenComponent{"emoji", "text_encoder", "fp8", "auto", 54},
                      WrittenComponent{"emoji", "text_encoder", "int8_convrot", "none", 61},
                      WrittenComponent{"emoji", "text_encoder", "int8_convrot", "auto", 62},
                      WrittenComponent{"emoji-sd", "unet", "fp8", "auto", 45},
                      WrittenComponent{"emoji-sd", "unet", "int8_convrot", "none", 52},
                      WrittenComponent{"emoji-sd", "unet", "int8_convrot", "auto", 48}),
    [](const auto& info) {
      std::string name = fmt::format("{}_{}_{}_{}", info.param.model, info.param.component,
                                     info.param.type, info.param.quantize);
      std::ranges::replace(name, '-', '_');
      return name;
    });

TEST(ConvertToScaledFile, AWholeModelIsReadBack) {
  TempFolder temp;
  fs::path folder = source_path("tests/goldens/pipelines/sd15/model"),
           file = temp / "a.safetensors";
  convert(scaled_catalogue(), {folder, file, "", "", {}, "fp8"});
  GenerateRequest request;
  request.model = file.string();
  request.inputs["prompt"] = "a red apple";
  request.config = {{"num_inference_steps", 2}, {"seed", 1}};
  request.components["tokenizer"] = (folder / "tokenizer").string();
  const at::Tensor image = run(request).image;
  request.model = folder.string();
  request.components.clear();
  EXPECT_GT(psnr(image, run(request).image, 1.0), 25);  // random weights, and all of them rounded
}

TEST(ConvertToScaledFile, NumbersThatCannotBeScaledAreRefusedByName) {
  TempFolder temp;
  std::vector<float> numbers(4096, 1.0F);
  numbers[77] = std::numeric_limits<float>::infinity();
  io::write_safetensors(
      temp / "from.safetensors",
      std::vector<io::TensorView>{
          {"a.weight", io::Dtype::f32, {64, 64}, std::as_bytes(std::span(numbers))}});
  EXPECT_THAT(
      message_of<InvalidRequest>([&] {
        convert(scaled_catalogue(),
                {temp / "from.safetensors", temp / "to.safetensors", "", "", {}, "int8_convrot"});
      }),
      HasSubstr("a.weight"));
  EXPECT_EQ(temp.names().size(), 1U);
}

}  // namespace
}  // namespace omnirt::testing
