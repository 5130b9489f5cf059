// Files from outside that say more than they should: refused by what they say.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "io/file.hpp"
#include "io/safetensors_writer.hpp"
#include "io/temp_folder.hpp"
#include "pipeline/latents_file.hpp"
#include "weights/adapters/adapter_file.hpp"
#include "weights/adapters/resolve.hpp"
#include "weights/pipeline_folder.hpp"

namespace omnirt {
namespace {
namespace fs = std::filesystem;
using omnirt::testing::message_of;
using ::testing::HasSubstr;

void write_text(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  io::write_file(path, std::as_bytes(std::span(text)));
}

void write_tensor(const fs::path& path, const std::string& name, const std::vector<int64_t>& shape,
                  const io::FileMetadata& metadata = {}) {
  size_t count = 1;
  for (int64_t size : shape) count *= static_cast<size_t>(size);
  std::vector<float> data(count);
  io::TensorView view{name, io::Dtype::f32, shape, std::as_bytes(std::span(data))};
  io::write_safetensors(path, std::span(&view, 1), metadata);
}

std::string many_keys(int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += fmt::format("{}\"k{}\":1", i ? "," : "", i);
  return text + "}";
}

std::string refusal_of_origin(const std::string& origin) {
  omnirt::testing::TempFolder folder;
  write_tensor(folder / "l.safetensors", "latents", {1, 4, 8, 8}, {{"latents", origin}});
  return message_of<InvalidFile>([&] { probe_latents(folder / "l.safetensors"); });
}

TEST(LatentsFile, ReadsWhatTheyWereMadeBy) {
  omnirt::testing::TempFolder folder;
  write_tensor(folder / "l.safetensors", "latents", {1, 4, 8, 8},
               {{"latents", R"({"request": {"task": "text2image"}})"}});
  EXPECT_EQ(probe_latents(folder / "l.safetensors").origin["request"]["task"], "text2image");
  write_tensor(folder / "m.safetensors", "latents", {1, 4, 8, 8});
  EXPECT_TRUE(probe_latents(folder / "m.safetensors").origin.empty());
}

TEST(LatentsFile, RefusesAnOriginThatIsDeepWideOrLarge) {
  EXPECT_THAT(refusal_of_origin(R"({"request":)" + std::string(200'000, '[')),
              HasSubstr("nested deeper"));
  EXPECT_THAT(refusal_of_origin(many_keys(5000)), HasSubstr("more than 4096 keys"));
  EXPECT_THAT(refusal_of_origin("\"" + std::string(3 << 20, 'x') + "\""), HasSubstr("limit"));
  EXPECT_THAT(refusal_of_origin("[1]"), HasSubstr("an object is expected"));
}

TEST(PipelineFolder, RefusesAConfigAndConfigsTogetherThatAreTooLarge) {
  omnirt::testing::TempFolder folder;
  Json index = {{"_class_name", "StableDiffusionPipeline"}};
  std::string large = R"({"x": ")" + std::string(900'000, 'x') + R"("})";
  for (int i = 0; i < 5; ++i) {
    std::string name = fmt::format("c{}", i);
    index[name] = {"diffusers", "A"};
    write_text(folder / name / "config.json", large);
  }
  write_text(folder / "model_index.json", index.dump());
  EXPECT_THAT(message_of<InvalidFile>([&] { read_pipeline_folder(folder.path()); }),
              HasSubstr("together"));
  write_text(folder / "c0/config.json", R"({"x": ")" + std::string(1 << 20, 'x') + R"("})");
  EXPECT_THAT(message_of<InvalidFile>([&] { read_pipeline_folder(folder.path()); }),
              HasSubstr("1048576"));
}

TEST(PipelineFolder, RefusesMoreComponentsThanAnyModelHas) {
  omnirt::testing::TempFolder folder;
  Json index = {{"_class_name", "StableDiffusionPipeline"}};
  for (int i = 0; i < 65; ++i) {
    index[fmt::format("c{}", i)] = {"diffusers", "A"};
    fs::create_directories(folder / fmt::format("c{}", i));
  }
  write_text(folder / "model_index.json", index.dump());
  EXPECT_THAT(message_of<InvalidFile>([&] { read_pipeline_folder(folder.path()); }),
              HasSubstr("more than 64 components"));
}

TEST(PipelineFolder, RefusesNamesThatLeadToNoFolderInIt) {
  for (const char* name : {".", "..", "", "a/b", "../a", "a\\b"}) {
    omnirt::testing::TempFolder folder;
    Json index = {{"_class_name", "StableDiffusionPipeline"}, {name, {"diffusers", "A"}}};
    write_text(folder / "model_index.json", index.dump());
    EXPECT_THAT(message_of<InvalidFile>([&] { read_pipeline_folder(folder.path()); }),
                HasSubstr("not a component's name"))
        << name;
  }
}

TEST(PipelineFolder, RefusesAModularPipelineByItsName) {
  omnirt::testing::TempFolder folder;
  const Json index = {{"_class_name", "Flux3ModularPipeline"}};
  write_text(folder / "modular_model_index.json", index.dump());
  EXPECT_THAT(message_of<Unsupported>([&] { read_pipeline_folder(folder.path()); }),
              HasSubstr("'Flux3ModularPipeline'"));
}

TEST(AdapterFile, TellsATokenWhoseNameIsTooLong) {
  omnirt::testing::TempFolder folder;
  write_tensor(folder / "e.safetensors", std::string(257, 'a'), {1, 8});
  adapters::AdapterFile file = adapters::open_adapter(folder / "e.safetensors", "", "adapters[0]");
  EXPECT_TRUE(file.tokens.empty());
  ASSERT_EQ(file.problems.size(), 1u);
}

std::string refusal_of_adapter(std::span<const io::TensorView> tensors) {
  omnirt::testing::TempFolder folder;
  io::write_safetensors(folder / "a.safetensors", tensors, {});
  return message_of<InvalidFile>(
      [&] { adapters::open_adapter(folder / "a.safetensors", "", "adapters[0]"); });
}

TEST(AdapterFile, RefusesMoreTokensThanAnyFileBrings) {
  std::vector<io::TensorView> tensors;
  for (int i = 0; i < 257; ++i)
    tensors.push_back({fmt::format("<{}>", i), io::Dtype::f32, {0}, {}});
  EXPECT_THAT(refusal_of_adapter(tensors), HasSubstr("more than 256 tokens"));
  EXPECT_EQ(refusal_of_adapter(std::span(tensors).first(256)), "");
}

TEST(AdapterFile, RefusesOneThatHoldsNothing) {
  EXPECT_THAT(refusal_of_adapter({}), HasSubstr("it holds no tensors"));
}

}  // namespace
}  // namespace omnirt
