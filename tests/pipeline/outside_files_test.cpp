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

// A component as a modular pipeline's index has it.
Json modular_entry(const char* class_name, Json repository, const char* subfolder,
                   Json revision = {}) {
  return {nullptr,
          nullptr,
          {{"type_hint", {"diffusers", class_name}},
           {"pretrained_model_name_or_path", std::move(repository)},
           {"subfolder", subfolder},
           {"variant", nullptr},
           {"revision", std::move(revision)}}};
}

TEST(PipelineFolder, ReadsAModularPipelinesComponentsInItAndInTheRepositoriesThatAreHere) {
  omnirt::testing::TempFolder folder, other;
  std::filesystem::create_directories(folder / "parts/transformer");
  std::filesystem::create_directories(folder / "tokenizer");
  std::filesystem::create_directories(folder / "processor");
  std::filesystem::create_directories(other / "vae");
  write_text(folder / "parts/transformer/config.json", R"({"_class_name": "A"})");
  for (const char* name : {"tokenizer", "processor"})
    write_text(folder / name / "tokenizer_config.json", R"({"tokenizer_class": "T"})");
  Json index = {{"_class_name", "Flux3ModularPipeline"},
                {"_blocks_class_name", "Flux3AutoBlocks"},
                {"transformer", modular_entry("A", "org/whole", "parts/transformer", "abc")},
                {"tokenizer", modular_entry("AutoProcessor", "org/whole", "tokenizer")},
                {"processor", modular_entry("QProcessor", "org/whole", "processor")},
                {"vae", modular_entry("B", "org/other", "vae")},
                {"pinned", modular_entry("B", "org/other", "vae", "abc")},
                {"far", modular_entry("C", "org/far", "")},
                {"made", modular_entry("D", nullptr, "")}};
  write_text(folder / "modular_model_index.json", index.dump());
  EXPECT_TRUE(is_pipeline_folder(folder.path()));
  PipelineFolder read = read_pipeline_folder(folder.path(), [&](const std::string& id) {
    return id == "org/other" ? other.path() : std::filesystem::path();
  });
  EXPECT_EQ(read.class_name, "Flux3ModularPipeline");
  ASSERT_EQ(read.components.size(), 4u);
  EXPECT_EQ(read.find("transformer")->folder, folder / "parts/transformer");
  EXPECT_EQ(read.find("transformer")->class_name, "A");
  EXPECT_EQ(read.find("tokenizer")->class_name, "T");
  EXPECT_EQ(read.find("processor")->class_name, "QProcessor");  // which prepares images, too
  EXPECT_EQ(read.find("vae")->folder, other / "vae");
  EXPECT_EQ(read.index.at("vae"), Json::array({"diffusers", "B"}));
  const std::map<std::string, std::string> elsewhere{{"pinned", "org/other"}, {"far", "org/far"}};
  EXPECT_EQ(read.elsewhere, elsewhere);
}

TEST(PipelineFolder, RefusesSubfoldersThatLeadOutOfAModularPipeline) {
  for (const char* subfolder : {"../a", "a/../../b", "/etc", "a\\b"}) {
    omnirt::testing::TempFolder folder;
    Json index = {{"_class_name", "Flux3ModularPipeline"},
                  {"vae", modular_entry("A", "org/whole", subfolder)}};
    write_text(folder / "modular_model_index.json", index.dump());
    EXPECT_THAT(message_of<InvalidFile>([&] { read_pipeline_folder(folder.path()); }),
                HasSubstr("leads out of the repository"))
        << subfolder;
  }
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
