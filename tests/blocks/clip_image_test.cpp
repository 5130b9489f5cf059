#include "blocks/clip_image.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/file.hpp"
#include "io/safetensors.hpp"
#include "source_paths.hpp"
#include "tensor/weight.hpp"

// Against transformers (tools/goldens/control.py).
namespace omnirt::blocks {
namespace {

namespace fs = std::filesystem;

fs::path goldens() {
  return source_path("tests/goldens");
}

Tensor stored(const fs::path& file, const std::string& name) {
  auto opened = io::SafetensorsFile::open(file);
  for (const io::TensorEntry& entry : opened->entries()) {
    if (entry.name != name) continue;
    Weight weight{.name = entry.name,
                  .dtype = entry.dtype,
                  .shape = entry.shape,
                  .data = opened->data(entry).data(),
                  .bytes = entry.bytes,
                  .owner = opened,
                  .release = {}};
    return weight.view().clone();
  }
  return {};
}

Json cases() {
  fs::path file = goldens() / "control/processor/cases.json";
  return parse_json(io::read_file(file, 1 << 20), file.string());
}

TEST(CLIPImageProcessor, PreparesImagesAsTheReference) {
  const Json all = cases();
  for (const auto& [name, each] : all.items()) {
    SCOPED_TRACE(name);
    io::Image image =
        io::read_image(goldens() / "pipelines/inputs" / each["picture"].get<std::string>());
    Tensor made = clip_pixel_values(image, read_clip_image_processor(each["config"], name));
    Tensor expected = stored(goldens() / "control/processor/golden.safetensors", name);
    ASSERT_EQ(made.sizes(), expected.sizes());
    // The same operations in the same types: what is left is one rounding.
    EXPECT_LT((made - expected).abs().max().item<double>(), 1e-6);
  }
}

TEST(CLIPImageProcessor, FitsAnEncoderWhoseFolderBringsNone) {
  CLIPImageProcessor read = read_clip_image_processor({{"size", 32}, {"crop_size", 32}}, "config");
  EXPECT_EQ(read.pixel_values(io::Image::zeros(64, 40, 4)).sizes(),
            (std::vector<int64_t>{1, 3, 32, 32}));
}

TEST(CLIPImageProcessor, RefusesWhatItCannotDo) {
  for (const Json& config :
       {Json{{"size", "large"}}, Json{{"size", int64_t{1} << 40}}, Json{{"crop_size", {{"w", 3}}}},
        Json{{"resample", 5}}, Json{{"image_std", {1.0, 0.0, 1.0}}}, Json{{"image_mean", {0.5}}},
        Json{{"do_pad", true}}}) {
    EXPECT_THROW(read_clip_image_processor(config, "preprocessor_config.json"), Unsupported)
        << config;
  }
}

}  // namespace
}  // namespace omnirt::blocks
