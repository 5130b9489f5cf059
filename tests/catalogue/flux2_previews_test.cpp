// FLUX.2 by its tiny autoencoder: as a preview's decoder, and in place of the model's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"
#include "io/image.hpp"
#include "io/temp_folder.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;

using ::testing::IsEmpty;

fs::path tiny_case() {
  return source_path("tests/goldens/networks/tiny_taef2");
}

GenerateRequest request(const fs::path& folder, const std::string& decoder) {
  GenerateRequest made;
  made.model = source_path("tests/goldens/pipelines/flux2_klein/model").string();
  made.inputs["prompt"] = "a small red apple";
  made.config = {{"num_inference_steps", 2},
                 {"seed", 3},
                 {"width", 32},
                 {"height", 24},
                 {"max_sequence_length", 48},
                 {"output", (folder / "out.png").string()},
                 {"preview_every", 2},
                 {"preview_dir", folder.string()},
                 {"preview_name", "{step}.png"},
                 {"preview_decoder", decoder}};
  return made;
}

double difference(const io::Image& a, const io::Image& b) {
  if (a.width != b.width || a.height != b.height) return 255;
  double sum = 0;
  for (size_t i = 0; i < a.pixels.size(); ++i)
    sum += std::abs(static_cast<double>(a.pixels[i]) - b.pixels[i]);
  return sum / static_cast<double>(a.pixels.size());
}

// As it is published: one file of tensors, without a config.
fs::path published(const TempFolder& folder) {
  fs::path file = folder.path() / "taef2/taef2.safetensors";
  fs::create_directories(file.parent_path());
  fs::copy_file(tiny_case() / "diffusion_pytorch_model.safetensors", file,
                fs::copy_options::overwrite_existing);
  return file;
}

// The last step's prediction is the image's latents.
TEST(Flux2Previews, OfTheLastStepAreTheImageThatTheSameDecoderMakes) {
  TempFolder folder;
  fs::path file = published(folder);
  for (const fs::path& decoder : {tiny_case(), file, file.parent_path()}) {
    SCOPED_TRACE(decoder.string());
    GenerateRequest asked = request(folder.path(), decoder.string());
    asked.components["vae"] = file.string();
    RunReport report;
    engine().run(asked, {}, {}, report);
    io::Image image = io::read_image(folder.path() / "out.png");
    EXPECT_EQ(image.width, 32);
    EXPECT_EQ(image.height, 24);
    EXPECT_LT(difference(io::read_image(folder.path() / "002.png"), image), 1);
  }
}

TEST(Flux2Previews, AreDrawnBesideTheModelsOwnAutoencoder) {
  TempFolder folder;
  RunReport report;
  engine().run(request(folder.path(), tiny_case().string()), {}, {}, report);
  ASSERT_EQ(report.previews.size(), 1u);
  EXPECT_GT(
      difference(io::read_image(report.previews[0]), io::read_image(folder.path() / "out.png")), 1);
}

TEST(Flux2Previews, AskForTheTinyAutoencoderByItsName) {
  TempFolder folder;
  EXPECT_THAT(engine().check(request(folder.path(), "tiny"), {}).errors,
              about("config.preview_decoder", "madebyollin/taef2 is not on this machine"));
  EXPECT_THAT(engine().check(request(folder.path(), tiny_case().string()), {}).errors, IsEmpty());
  std::string foreign = source_path("tests/goldens/networks/tiny_taesd").string();
  EXPECT_THAT(engine().check(request(folder.path(), foreign), {}).errors,
              about("config.preview_decoder", "decodes 4 latent channels"));
  EXPECT_THAT(engine().check(request(folder.path(), folder.path().string()), {}).errors,
              about("config.preview_decoder", "no config.json that names a class"));
}

}  // namespace
}  // namespace omnirt::testing
