// Checkpoints of one file: what they are taken for, that the numbers end where the reference puts
// them, and that nothing changes there and back.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "catalogue/catalogue.hpp"
#include "catalogue/support.hpp"
#include "engine/convert.hpp"
#include "io/safetensors_writer.hpp"
#include "io/sharded.hpp"
#include "io/temp_folder.hpp"
#include "request/single_file.hpp"
#include "request/validate.hpp"
#include "weights/original_weights.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Shapes = std::map<std::string, std::vector<int64_t>>;

const Catalogue& catalogue() {
  static const Catalogue built = builtin_catalogue();
  return built;
}

// As `numbers` of tools/goldens/single_file.py.
std::vector<float> numbers(const std::string& name, const std::vector<int64_t>& shape) {
  uint32_t seed = 2166136261u;
  for (char c : name) seed = (seed ^ static_cast<unsigned char>(c)) * 16777619u;
  size_t count = 1;
  for (int64_t size : shape) count *= static_cast<size_t>(size);
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>((static_cast<uint32_t>(i * 2654435761u) + seed) >> 22) / 16 - 32;
  return values;
}

// As `weighted_sum` there.
std::string weighted_sum(std::span<const std::byte> bytes) {
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes.size() / 4; ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, &bytes[4 * i], 4);
    sum += bits * (2 * uint64_t{i} + 1);
  }
  return fmt::format("{:016x}", sum);
}

void write_checkpoint(const fs::path& path, const Shapes& shapes,
                      const io::FileMetadata& metadata = {}) {
  std::vector<io::TensorSource> tensors;
  for (const auto& [name, shape] : shapes) {
    tensors.push_back({name, io::Dtype::f32, shape, [&](const io::TensorSource::Emit& emit) {
                         emit(std::as_bytes(std::span<const float>(numbers(name, shape))));
                       }});
  }
  io::stream_safetensors(path, tensors, metadata);
}

Json golden_case(const std::string& name) {
  return read_json_file(source_path("tests/goldens/single_file/" + name + ".json"));
}

std::string without(const std::string& name, const std::string& prefix) {
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

// Every tensor of a converted component is the reference's, bit for bit.
void expect_component(const fs::path& folder, const Json& expected, const std::string& network) {
  static const std::string bases[] = {"diffusion_pytorch_model", "model"};
  auto files = io::TensorFiles::open(folder, bases);
  EXPECT_EQ(files.size(), expected.size());
  // The reference's text encoder alone has no such beginning, published files have.
  std::string prefix = network == "text_encoder" ? "text_model." : "";
  for (const std::string& name : files.names()) {
    auto found = files.find(name);
    std::string own = without(name, prefix);
    ASSERT_TRUE(expected.contains(own)) << name;
    EXPECT_EQ(Json(found->entry->shape), expected[own][0]) << name;
    EXPECT_EQ(weighted_sum(found->data()), expected[own][1].get<std::string>()) << name;
  }
}

class SingleFiles : public ::testing::TestWithParam<std::string> {};

TEST_P(SingleFiles, AreConvertedAsTheReferenceDoes) {
  Json golden = golden_case(GetParam());
  TempFolder temp;
  write_checkpoint(temp / "one.safetensors", golden["shapes"].get<Shapes>());
  convert(catalogue(), {temp / "one.safetensors", temp / "folder", "", "", {}});
  for (const auto& [component, config] : golden["configs"].items()) {
    SCOPED_TRACE(component);
    expect_component(temp / "folder" / component, golden[component], component);
    Json written = read_json_file(temp / "folder" / component / "config.json");
    for (const auto& [key, value] : config.items()) {
      if (key == "architectures") continue;
      EXPECT_EQ(written[key], value) << key;
    }
  }
}

TEST_P(SingleFiles, KeepEveryBitThereAndBack) {
  TempFolder temp;
  fs::path one = temp / "one.safetensors", two = temp / "two.safetensors";
  write_checkpoint(one, golden_case(GetParam())["shapes"].get<Shapes>(),
                   {{"modelspec.title", "x"}});
  convert(catalogue(), {one, temp / "folder", "", "", {}});
  convert(catalogue(), {temp / "folder", two, "", "", {}});
  auto before = io::SafetensorsFile::open(one), after = io::SafetensorsFile::open(two);
  ASSERT_EQ(before->entries().size(), after->entries().size());
  for (const io::TensorEntry& entry : before->entries()) {
    const io::TensorEntry* other = after->find(entry.name);
    ASSERT_TRUE(other) << entry.name;
    EXPECT_EQ(other->shape, entry.shape) << entry.name;
    EXPECT_TRUE(std::ranges::equal(before->data(entry), after->data(*other))) << entry.name;
  }
  EXPECT_EQ(after->metadata().at("modelspec.title"), "x");
  EXPECT_EQ(temp.names(),
            (std::vector<std::string>{"folder", "one.safetensors", "two.safetensors"}));
}

INSTANTIATE_TEST_SUITE_P(Kinds, SingleFiles,
                         ::testing::Values("sd1", "sd1_inpaint", "sd2", "sdxl", "sdxl_refiner",
                                           "sd3"),
                         [](const auto& info) { return info.param; });

std::string prediction_of(const std::string& name, const io::FileMetadata& metadata,
                          const std::vector<std::string>& markers = {}) {
  TempFolder temp;
  Shapes shapes = golden_case(name)["shapes"].get<Shapes>();
  for (const std::string& marker : markers) shapes[marker] = {};
  write_checkpoint(temp / "one.safetensors", shapes, metadata);
  SingleFile opened = open_single_file(catalogue(), temp / "one.safetensors");
  return opened.folder.find("scheduler")->config["prediction_type"].get<std::string>();
}

TEST(SingleFile, TellsThePredictionTypeByMetadataThenMarkersThenTheKindsRule) {
  EXPECT_EQ(prediction_of("sd1", {}), "epsilon");
  EXPECT_EQ(prediction_of("sd1", {}, {"v_pred"}), "v_prediction");
  EXPECT_EQ(prediction_of("sd1", {{"modelspec.prediction_type", "v"}}), "v_prediction");
  EXPECT_EQ(prediction_of("sd2", {}), "v_prediction");
  EXPECT_EQ(prediction_of("sd2", {{"modelspec.prediction_type", "epsilon"}}), "epsilon");
  EXPECT_EQ(prediction_of("sd2", {{"modelspec.architecture", "stable-diffusion-v2-512"}}),
            "epsilon");
}

TEST(SingleFile, WarnsWhereTheKindsRuleMayBeWrong) {
  TempFolder temp;
  write_checkpoint(temp / "one.safetensors", golden_case("sd2")["shapes"].get<Shapes>());
  GenerateRequest request;
  request.inputs["prompt"] = "a red apple";
  request.model = (temp / "one.safetensors").string();
  auto warned = [&] {
    Proposal proposal = validate(catalogue(), request);
    return std::ranges::any_of(proposal.warnings, [](const Finding& finding) {
      return finding.field == "model.prediction_type";
    });
  };
  EXPECT_TRUE(warned());
  request.config["scheduler_config"] = {{"prediction_type", "epsilon"}};
  EXPECT_FALSE(warned());
}

TEST(SingleFile, RefusesAnIndexWhoseEntriesAreOfAnotherKind) {
  TempFolder temp;
  for (const char* entry :
       {R"("unet": "x")", R"("scheduler": 5)", R"("tokenizer": ["a"])", R"("_class_name": 7)"}) {
    write_checkpoint(
        temp / "one.safetensors", golden_case("sd1")["shapes"].get<Shapes>(),
        {{single_file_configs, fmt::format(R"({{"index": {{{}}}, "configs": {{}}}})", entry)}});
    EXPECT_THAT(
        message_of<InvalidFile>([&] { open_single_file(catalogue(), temp / "one.safetensors"); }),
        HasSubstr("is expected"))
        << entry;
  }
}

TEST(SingleFile, TellsWhatItLeavesOut) {
  TempFolder temp;
  Shapes shapes = golden_case("sd1")["shapes"].get<Shapes>();
  shapes["model_ema.diffusion_modelconv_inweight"] = {2};
  write_checkpoint(temp / "one.safetensors", shapes);
  SingleFile opened = open_single_file(catalogue(), temp / "one.safetensors");
  EXPECT_EQ(opened.ignored_tensors, 3u);
  EXPECT_THAT(opened.ignored, HasSubstr("1 averages of training"));
  EXPECT_THAT(opened.ignored, HasSubstr("2 the training's noise schedule"));
}

std::string refusal(const Shapes& shapes) {
  TempFolder temp;
  write_checkpoint(temp / "one.safetensors", shapes);
  return message_of<Unsupported>([&] { open_single_file(catalogue(), temp / "one.safetensors"); });
}

TEST(SingleFile, IsRefusedWithWhatItWasRecognisedAs) {
  EXPECT_THAT(refusal({{"double_blocks.0.img_attn.norm.key_norm.scale", {8}}}),
              HasSubstr("a Flux transformer"));
  EXPECT_THAT(refusal({{"model.diffusion_model.joint_blocks.0.x.weight", {8}}}),
              HasSubstr("a Stable Diffusion 3 transformer"));
  EXPECT_THAT(refusal({{"model.diffusion_model.txtfusion.projector.weight", {1, 12}}}),
              HasSubstr("a Krea 2 transformer"));
  EXPECT_THAT(refusal({{"content_mode_blocks.image.0.q_proj.weight", {8, 8}}}),
              HasSubstr("a FLUX.3 transformer"));
  EXPECT_THAT(refusal({{"lora_unet_mid_block.lora_down.weight", {8}}}),
              HasSubstr("a LoRA adapter"));
  EXPECT_THAT(refusal({{"first_stage_model.decoder.conv_in.weight", {8, 4, 3, 3}}}),
              HasSubstr("an autoencoder alone"));
  EXPECT_THAT(refusal({{"something.else", {8}}}), HasSubstr("'something.else'"));
}

TEST(SingleFile, NamesMissingMisShapedAndUnexpectedTensorsTogether) {
  TempFolder temp;
  Shapes shapes = golden_case("sd1")["shapes"].get<Shapes>();
  shapes.erase("model.diffusion_model.out.0.bias");
  shapes["first_stage_model.quant_conv.bias"] = {7};
  shapes["model.diffusion_model.input_blocks.1.5.weight"] = {1};
  write_checkpoint(temp / "one.safetensors", shapes);
  std::string told = message_of<InvalidRequest>([&] {
    convert(catalogue(), {temp / "one.safetensors", temp / "folder", "", "", {}});
  });
  EXPECT_THAT(told, HasSubstr("model.diffusion_model.out.0.bias"));
  EXPECT_THAT(told, HasSubstr("first_stage_model.quant_conv.bias"));
  EXPECT_THAT(told, HasSubstr("model.diffusion_model.input_blocks.1.5.weight"));
  EXPECT_EQ(temp.names(), std::vector<std::string>{"one.safetensors"});
}

TEST(SingleFile, IsNeverWrittenOverSomethingThatIsThere) {
  TempFolder temp;
  fs::create_directory(temp / "there");
  EXPECT_THROW(convert(catalogue(), {source_path("models/emoji-sd"), temp / "there", "", "", {}}),
               InvalidRequest);
}

class Folders : public ::testing::TestWithParam<std::string> {
 protected:
  fs::path model() const { return source_path("tests/goldens/pipelines") / GetParam() / "model"; }
};

TEST_P(Folders, KeepEveryBitIntoOneFileAndBack) {
  TempFolder temp;
  fs::path one = temp / "one.safetensors";
  convert(catalogue(), {model(), one, "", "", {}});
  convert(catalogue(), {one, temp / "folder", "", "", {}});
  for (const char* component :
       {"unet", "transformer", "vae", "text_encoder", "text_encoder_2", "text_encoder_3"}) {
    SCOPED_TRACE(component);
    if (!fs::exists(model() / component)) continue;
    static const std::string bases[] = {"diffusion_pytorch_model", "model"};
    auto before = io::TensorFiles::open(model() / component, bases);
    auto after = io::TensorFiles::open(temp / "folder" / component, bases);
    std::string prefix = component == std::string("text_encoder") ? "text_model." : "";
    for (const std::string& name : before.names()) {
      // A buffer of old files, 0 to 76, that OpenCLIP's files have no place for.
      if (GetParam() == "sd2" && name.ends_with("position_ids")) continue;
      const bool projection = name.starts_with("text_projection");
      auto found = after.find(projection ? name : prefix + without(name, prefix));
      ASSERT_TRUE(found) << name;
      EXPECT_EQ(found->entry->dtype, before.find(name)->entry->dtype) << name;
      EXPECT_TRUE(std::ranges::equal(found->data(), before.find(name)->data())) << name;
    }
    EXPECT_EQ(read_json_file(temp / "folder" / component / "config.json"),
              read_json_file(model() / component / "config.json"));
  }
}

// Mapped, with nothing written: the same image to the bit.
TEST_P(Folders, RunAsOneFileToo) {
  TempFolder temp;
  convert(catalogue(), {model(), temp / "one.safetensors", "", "", {}});
  GenerateRequest request;
  request.inputs["prompt"] = "a red apple";
  request.config = {{"num_inference_steps", 2}, {"seed", 1}};
  for (const char* tokenizer : {"tokenizer", "tokenizer_2", "tokenizer_3"}) {
    if (fs::exists(model() / tokenizer))
      request.components[tokenizer] = (model() / tokenizer).string();
  }
  request.model = model().string();
  Outcome folder = run(request);
  request.model = (temp / "one.safetensors").string();
  Outcome file = run(request);
  EXPECT_TRUE(file.image.equal(folder.image));
  EXPECT_THAT(file.report.single_file.value().kind, HasSubstr("Stable Diffusion"));
  EXPECT_FALSE(folder.report.single_file);
}

INSTANTIATE_TEST_SUITE_P(Models, Folders, ::testing::Values("sd15", "sd2", "sdxl", "sd3", "sd35"),
                         [](const auto& info) { return info.param; });

// As stable-diffusion.cpp's conversion names the text encoders (wheel 0.4.7, of these two files).
std::string renamed_by_sd_cpp(std::string name) {
  const std::pair<const char*, const char*> renamed[] = {
      {"conditioner.embedders.0.transformer.", "cond_stage_model.transformer."},
      {"conditioner.embedders.1.model.", "cond_stage_model.1.transformer.text_model."},
      {"cond_stage_model.model.", "cond_stage_model.transformer.text_model."},
      {".positional_embedding", ".embeddings.position_embedding.weight"},
      {"text_model.token_embedding.", "text_model.embeddings.token_embedding."},
      {".ln_final.", ".final_layer_norm."},
      {".transformer.resblocks.", ".encoder.layers."},
      {".attn.in_proj_", ".self_attn.in_proj."},
      {".attn.out_proj.", ".self_attn.out_proj."},
      {".ln_1.", ".layer_norm1."},
      {".ln_2.", ".layer_norm2."},
      {".mlp.c_fc.", ".mlp.fc1."},
      {".mlp.c_proj.", ".mlp.fc2."}};
  if (!name.starts_with("cond")) return name;
  for (const auto& [from, to] : renamed) {
    if (size_t at = name.find(from); at != std::string::npos)
      name.replace(at, std::string_view(from).size(), to);
  }
  return name;
}

TEST(SingleFile, TakesTheNamesThatStableDiffusionCppWrites) {
  for (const char* pipeline : {"sd2", "sdxl"}) {
    SCOPED_TRACE(pipeline);
    TempFolder temp;
    fs::path folder = source_path("tests/goldens/pipelines") / pipeline / "model";
    convert(catalogue(), {folder, temp / "one.safetensors", "", "", {}});
    auto one = io::TensorFiles::open_file(temp / "one.safetensors");
    std::vector<io::TensorSource> tensors;
    for (const std::string& name : one.names()) {
      const io::FoundTensor found = *one.find(name);
      tensors.push_back({renamed_by_sd_cpp(name), found.entry->dtype, found.entry->shape,
                         [found](const auto& emit) { emit(found.data()); }});
    }
    io::stream_safetensors(temp / "renamed.safetensors", tensors, one.files().front()->metadata());
    GenerateRequest request;
    request.inputs["prompt"] = "a red apple";
    request.config = {{"num_inference_steps", 2}, {"seed", 1}};
    for (const char* tokenizer : {"tokenizer", "tokenizer_2"}) {
      if (fs::exists(folder / tokenizer))
        request.components[tokenizer] = (folder / tokenizer).string();
    }
    request.model = folder.string();
    Outcome expected = run(request);
    request.model = (temp / "renamed.safetensors").string();
    EXPECT_TRUE(run(request).image.equal(expected.image));
  }
}

// Of the published sizes, without configs: what names and shapes say.
TEST(SingleFile, TellsTheNamesOfStableDiffusionCppFromShapes) {
  for (const char* kind : {"sd2", "sdxl"}) {
    SCOPED_TRACE(kind);
    Shapes published = golden_case(kind)["shapes"].get<Shapes>(), renamed;
    for (const auto& [name, shape] : published) renamed[renamed_by_sd_cpp(name)] = shape;
    TempFolder temp;
    write_checkpoint(temp / "one.safetensors", published);
    write_checkpoint(temp / "renamed.safetensors", renamed);
    SingleFile plain = open_single_file(catalogue(), temp / "one.safetensors"),
               other = open_single_file(catalogue(), temp / "renamed.safetensors");
    EXPECT_EQ(other.kind, plain.kind);
    for (const char* name : {"text_encoder", "text_encoder_2", "unet"}) {
      const ComponentFolder* component = plain.folder.find(name);
      if (!component) continue;
      EXPECT_EQ(other.folder.find(name)->config, component->config) << name;
    }
  }
}

// The reference's own pipelines of tiny shapes, whose heads no shape shows.
TEST(SingleFile, TakesConfigsFromAFolderThatTheRequestNames) {
  TempFolder temp;
  fs::path model = source_path("tests/goldens/pipelines/sd15/model"),
           one = temp / "sd15.safetensors";
  convert(catalogue(), {model, one, "", "", {}});
  SingleFile opened = open_single_file(catalogue(), one, model);
  EXPECT_EQ(opened.folder.find("unet")->config, read_json_file(model / "unet/config.json"));
  EXPECT_EQ(opened.folder.find("tokenizer")->folder, model / "tokenizer");
  EXPECT_FALSE(opened.folder.find("tokenizer")->original);
}

// What shapes alone show of the published models is what was published.
TEST(SingleFile, TellsThePublishedConfigsFromTheirShapes) {
  for (const char* name : {"sd-v1-5", "sd-v1-5-inpainting", "sd2-1-base", "sd2-inpainting"}) {
    SCOPED_TRACE(name);
    fs::path folder = source_path("tests/data/configs") / name;
    const bool second = std::string(name).starts_with("sd2");
    TensorShapes shapes;
    auto add = [&](const char* component, const std::string& layout, const std::string& prefix) {
      Json config = read_json_file(folder / component / "config.json");
      std::string class_name = config.contains("_class_name")
                                   ? config["_class_name"].get<std::string>()
                                   : config["architectures"][0].get<std::string>();
      auto network = catalogue().find_network(class_name)->make(config, name);
      auto rules = original_layout(*network, layout);
      for (const Param* param : network->params()) {
        auto place = nn::original_place(rules, *param);
        shapes.add(prefix + place->name, place->shape);
      }
    };
    add("unet", "ldm", "model.diffusion_model.");
    add("vae", "ldm", "first_stage_model.");
    add("text_encoder", second ? "open_clip" : "clip",
        second ? "cond_stage_model.model." : "cond_stage_model.transformer.");
    io::FileMetadata metadata{{"modelspec.prediction_type", "epsilon"}};
    SingleFileFacts facts{shapes, metadata, Json::object()};
    std::optional<SingleFileModel> model;
    for (const Family& family : catalogue().families) {
      for (const SingleFileKind& kind : family.single_files) {
        if (!model) model = kind.recognise(facts);
      }
    }
    ASSERT_TRUE(model);
    for (const SingleFileModel::Part& part : model->parts) {
      if (part.component == "tokenizer" || part.component == "scheduler") continue;
      Json published = read_json_file(folder / part.component / "config.json");
      for (const char* key :
           {"block_out_channels", "down_block_types", "up_block_types", "layers_per_block",
            "attention_head_dim", "cross_attention_dim", "in_channels", "out_channels",
            "sample_size", "norm_num_groups", "hidden_size", "num_hidden_layers", "hidden_act",
            "intermediate_size", "num_attention_heads", "vocab_size", "latent_channels"}) {
        if (!published.contains(key) || !part.config.contains(key)) continue;
        // An autoencoder's is the size of its training's crops, which nothing reads.
        if (part.component == "vae" && key == std::string("sample_size")) continue;
        EXPECT_EQ(part.config[key], published[key]) << part.component << " " << key;
      }
      EXPECT_EQ(part.config.value("use_linear_projection", false),
                published.value("use_linear_projection", false));
    }
  }
}

}  // namespace
}  // namespace omnirt::testing
