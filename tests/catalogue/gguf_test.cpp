// Models and components in GGUF files: the same images as from the numbers that they encode.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.hpp"
#include "catalogue/catalogue.hpp"
#include "catalogue/support.hpp"
#include "engine/convert.hpp"
#include "engine/session.hpp"
#include "io/safetensors_writer.hpp"
#include "io/sharded.hpp"
#include "io/temp_folder.hpp"
#include "request/component_files.hpp"
#include "request/single_file.hpp"
#include "tensor/weight.hpp"
#include "weights/original_weights.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::HasSubstr;

const Catalogue& gguf_catalogue() {
  static const Catalogue built = builtin_catalogue();
  return built;
}

// The numbers of a file as plain safetensors.
void write_numbers(const fs::path& from, const fs::path& to, bool with_config = true) {
  auto files = io::TensorFiles::open_file(from);
  std::vector<io::TensorSource> tensors;
  for (const std::string& name : files.names()) {
    auto weight = std::make_shared<const Weight>(weight_of(*files.find(name)));
    tensors.push_back({name, weight->dtype, weight->shape,
                       [weight](const auto& emit) { emit_numbers(*weight, emit); }});
  }
  io::FileMetadata metadata = files.files().front()->metadata();
  std::erase_if(metadata, [](const auto& each) { return each.first.starts_with("general."); });
  if (!with_config) metadata.erase(single_file_configs);
  io::stream_safetensors(to, tensors, metadata);
}

GenerateRequest small_request(const fs::path& model) {
  GenerateRequest request;
  request.model = model.string();
  request.inputs["prompt"] = "a red apple";
  request.config = {{"num_inference_steps", 2}, {"seed", 1}};
  return request;
}

GenerateRequest sd_request(const fs::path& file, const fs::path& folder) {
  GenerateRequest request = small_request(file);
  for (const char* tokenizer : {"tokenizer", "tokenizer_2"}) {
    if (fs::exists(folder / tokenizer))
      request.components[tokenizer] = (folder / tokenizer).string();
  }
  return request;
}

// Written by Python's gguf, of six types (tools/goldens/gguf_models.py).
TEST(Gguf, AWholeModelMakesTheImageOfItsNumbers) {
  TempFolder temp;
  fs::path gguf = source_path("tests/goldens/gguf/sd15.gguf"), plain = temp / "plain.safetensors";
  fs::path folder = source_path("tests/goldens/pipelines/sd15/model");
  write_numbers(gguf, plain);
  for (const char* level : {"compile", "kernel_override", "eager"}) {
    SCOPED_TRACE(level);
    GenerateRequest quantized = sd_request(gguf, folder), widened = sd_request(plain, folder);
    quantized.config["level"] = widened.config["level"] = level;
    Outcome expected = run(widened), made = run(quantized);
    EXPECT_TRUE(made.image.equal(expected.image));
    EXPECT_THAT(made.report.single_file.value().kind, HasSubstr("Stable Diffusion 1.x"));
  }
}

// Kernels read matrices, filters and tables as they are stored; what is widened is counted.
TEST(Gguf, OnTheCpuNextToNothingIsWidened) {
  fs::path folder = source_path("tests/goldens/pipelines/sd15/model");
  TempFolder temp;
  convert(gguf_catalogue(), {folder, temp / "q8.gguf", "", "", {}, "q8_0"});
  Engine fresh(builtin_catalogue());
  GenerateRequest request = sd_request(temp / "q8.gguf", folder);
  RunReport report = run_on(fresh, request).report;
  EXPECT_LT(report.memory.weights_converted_bytes * 10, report.memory.weights_stored_bytes);
  request.config["level"] = "eager";
  EXPECT_GT(run_on(fresh, request).report.memory.weights_converted_bytes, 200'000);
}

class GgufFolders : public ::testing::TestWithParam<std::string> {};

// Types that hold every bit: the folder's image.
TEST_P(GgufFolders, MakeTheSameImageAsOneGgufFile) {
  TempFolder temp;
  fs::path folder = source_path("tests/goldens/pipelines") / GetParam() / "model";
  convert(gguf_catalogue(), {folder, temp / "one.gguf", "", "", {}});
  Outcome expected = run(small_request(folder));
  EXPECT_TRUE(run(sd_request(temp / "one.gguf", folder)).image.equal(expected.image));
}

TEST_P(GgufFolders, MakeTheImageOfTheirNumbersWhenQuantized) {
  TempFolder temp;
  fs::path folder = source_path("tests/goldens/pipelines") / GetParam() / "model";
  for (const char* type : {"q4_0", "q4_k"}) {
    SCOPED_TRACE(type);
    fs::path gguf = temp / fmt::format("{}.gguf", type),
             plain = temp / fmt::format("{}.safetensors", type);
    convert(gguf_catalogue(), {folder, gguf, "", "", {}, type});
    write_numbers(gguf, plain);
    Outcome expected = run(sd_request(plain, folder));
    EXPECT_TRUE(run(sd_request(gguf, folder)).image.equal(expected.image));
    EXPECT_FALSE(run(small_request(folder)).image.equal(expected.image));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, GgufFolders, ::testing::Values("sd15", "sd2", "sdxl"),
                         [](const auto& info) { return info.param; });

// Names and shapes alone, as stable-diffusion.cpp writes files.
TEST(Gguf, AModelIsRecognisedByNamesAndShapes) {
  Json golden = read_json_file(source_path("tests/goldens/single_file/sdxl.json"));
  TempFolder temp;
  std::vector<io::TensorSource> tensors;
  for (const auto& [name, shape] :
       golden["shapes"].get<std::map<std::string, std::vector<int64_t>>>()) {
    auto bytes = std::make_shared<std::vector<std::byte>>(*io::tensor_bytes(io::Dtype::f16, shape));
    tensors.push_back({name, io::Dtype::f16, shape, [bytes](const auto& emit) { emit(*bytes); }});
  }
  io::stream_safetensors(temp / "one.safetensors", tensors);
  convert(gguf_catalogue(), {temp / "one.safetensors", temp / "one.gguf", "", "", {}, "q8_0"});
  SingleFile gguf = open_single_file(gguf_catalogue(), temp / "one.gguf"),
             plain = open_single_file(gguf_catalogue(), temp / "one.safetensors");
  EXPECT_EQ(gguf.kind, plain.kind);
  EXPECT_EQ(gguf.folder.find("unet")->config, plain.folder.find("unet")->config);
  auto unet = read_component_file(gguf_catalogue(), "unet", temp / "one.gguf");
  ASSERT_TRUE(unet);
  EXPECT_EQ(unet->class_name, "UNet2DConditionModel");
  EXPECT_EQ(unet->original->prefix, "model.diffusion_model.");
}

// ------------------------------------------------------------------------------- components

fs::path klein() {
  return source_path("tests/goldens/pipelines/flux2_klein/model");
}

// A component's folder of a class and config, with drawn weights.
void write_component(const fs::path& folder, Json config, const std::string& class_name) {
  config["_class_name"] = class_name;
  const nn::NetworkInfo& info = *gguf_catalogue().find_network(class_name);
  auto network = info.make(config, "test");
  std::vector<io::TensorSource> tensors;
  at::manual_seed(3);
  for (const Param* param : network->params()) {
    Tensor drawn = at::randn(param->shape) * 0.05;
    tensors.push_back(
        {param->name, io::Dtype::f32, param->shape, [drawn](const auto& emit) {
           emit({reinterpret_cast<const std::byte*>(drawn.data_ptr<float>()), drawn.nbytes()});
         }});
  }
  fs::create_directories(folder);
  std::ofstream(folder / "config.json") << config.dump();
  io::stream_safetensors(folder / (info.weights_base + ".safetensors"), tensors);
}

// The image with a component from a folder, as quantised GGUF and as the numbers of that.
void expect_same_with(const std::string& name, const fs::path& folder, const std::string& expected,
                      const fs::path& model = klein(), const Json& config = Json::object()) {
  TempFolder temp;
  convert(gguf_catalogue(), {folder, temp / "part.gguf", "", "", {}, "q8_0"});
  write_numbers(temp / "part.gguf", temp / "part.safetensors");
  Json types = inspect((temp / "part.gguf").string())["weights"]["parameters_by_dtype"];
  EXPECT_TRUE(types.contains("q8_0")) << types;
  GenerateRequest request = small_request(model);
  request.config.update(config);
  request.components[name] = (temp / "part.gguf").string();
  Outcome made = run(request);
  std::string stored;  // the type that most of its bytes are in
  for (const auto& placed : made.report.device_placement) {
    if (placed.component == name) stored = placed.stored_dtype;
  }
  EXPECT_EQ(stored, expected);
  request.components[name] = (temp / "part.safetensors").string();
  EXPECT_TRUE(run(request).image.equal(made.image));
}

TEST(Gguf, ATransformerOfFlux2IsAComponent) {
  TempFolder temp;
  Json config = read_json_file(klein() / "transformer/config.json");
  config["attention_head_dim"] = 128;
  config["num_attention_heads"] = 1;
  config["axes_dims_rope"] = {32, 32, 32, 32};
  write_component(temp / "transformer", config, "Flux2Transformer2DModel");
  expect_same_with("transformer", temp / "transformer", "q8_0");
}

// Of heads as wide as published ones, which files without a config must have.
TEST(Gguf, ATransformerOfFlux1IsAComponent) {
  TempFolder temp;
  const fs::path model = source_path("tests/goldens/pipelines/flux_dev/model");
  Json config = read_json_file(model / "transformer/config.json");
  config["attention_head_dim"] = 128;
  config["num_attention_heads"] = 1;
  config["axes_dims_rope"] = {16, 56, 56};
  write_component(temp / "transformer", config, "FluxTransformer2DModel");
  expect_same_with("transformer", temp / "transformer", "q8_0", model);
}

TEST(Gguf, ATransformerOfChromaIsAComponent) {
  TempFolder temp;
  const fs::path model = source_path("tests/goldens/pipelines/chroma/model");
  Json config = read_json_file(model / "transformer/config.json");
  config["attention_head_dim"] = 128;
  config["num_attention_heads"] = 1;
  config["axes_dims_rope"] = {16, 56, 56};
  write_component(temp / "transformer", config, "ChromaTransformer2DModel");
  expect_same_with("transformer", temp / "transformer", "q8_0", model);
}

TEST(Gguf, ATransformerOfZImageIsAComponent) {
  TempFolder temp;
  const fs::path model = source_path("tests/goldens/pipelines/z_image/model");
  Json config = read_json_file(model / "transformer/config.json");
  config["dim"] = 128;
  config["n_heads"] = 1;
  config["axes_dims"] = {32, 48, 48};
  write_component(temp / "transformer", config, "ZImageTransformer2DModel");
  // Its perceptrons' rows of 341 make no whole blocks.
  expect_same_with("transformer", temp / "transformer", "fp32", model);
}

TEST(Gguf, ATransformerOfLumina2IsAComponent) {
  TempFolder temp;
  const fs::path model = source_path("tests/goldens/pipelines/lumina2/model");
  Json config = read_json_file(model / "transformer/config.json");
  config["hidden_size"] = 192;
  config["num_attention_heads"] = 2;
  config["num_kv_heads"] = 1;
  config["multiple_of"] = 256;
  config["axes_dim_rope"] = {32, 32, 32};
  write_component(temp / "transformer", config, "Lumina2Transformer2DModel");
  expect_same_with("transformer", temp / "transformer", "q8_0", model);
}

TEST(Gguf, ATransformerOfAuraFlowIsAComponent) {
  TempFolder temp;
  const fs::path model = source_path("tests/goldens/pipelines/aura_flow/model");
  Json config = read_json_file(model / "transformer/config.json");
  config["attention_head_dim"] = 256;
  config["num_attention_heads"] = 1;
  config["caption_projection_dim"] = 256;
  write_component(temp / "transformer", config, "AuraFlowTransformer2DModel");
  expect_same_with("transformer", temp / "transformer", "q8_0", model);
}

// The image with a component from a folder, and as one file of the original's names, whose shapes
// alone tell its config.
void expect_folders_image(const std::string& name, const fs::path& folder, const fs::path& model,
                          const Json& config) {
  TempFolder temp;
  convert(gguf_catalogue(), {folder, temp / "exact.gguf", "", "", {}});
  write_numbers(temp / "exact.gguf", temp / "exact.safetensors", /*with_config=*/false);
  GenerateRequest request = small_request(model);
  request.config.update(config);
  request.components[name] = folder.string();
  const Outcome expected = run(request);
  request.components[name] = (temp / "exact.safetensors").string();
  EXPECT_TRUE(run(request).image.equal(expected.image));
}

// A transformer of the family, its config changed by `changes`; `architecture`: what a GGUF file of
// it says.
struct NewerFamily {
  const char *model, *class_name, *architecture;
  Json changes, request;
  bool told_by_shapes = true;
};

class NewerFamilies : public ::testing::TestWithParam<NewerFamily> {};

TEST_P(NewerFamilies, HaveTransformersInTheOriginalsNamesAsComponents) {
  const NewerFamily& family = GetParam();
  TempFolder temp;
  const fs::path model = source_path("tests/goldens/pipelines") / family.model / "model";
  Json config = read_json_file(model / "transformer/config.json");
  config.update(family.changes);
  write_component(temp / "transformer", config, family.class_name);
  expect_same_with("transformer", temp / "transformer", "q8_0", model, family.request);
  if (family.told_by_shapes)
    expect_folders_image("transformer", temp / "transformer", model, family.request);
  convert(gguf_catalogue(), {temp / "transformer", temp / "q4.gguf", "", "", {}, "q4_0"});
  auto metadata = io::TensorFiles::open_file(temp / "q4.gguf").files().front()->metadata();
  EXPECT_EQ(metadata["general.architecture"], family.architecture);
}

std::vector<NewerFamily> newer_families() {
  const Json heads_of_128 = {{"attention_head_dim", 128}, {"num_attention_heads", 1}};
  Json krea2 = {{"attention_head_dim", 32},
                {"num_attention_heads", 2},
                {"num_key_value_heads", 1},
                {"intermediate_size", 512},
                {"axes_dims_rope", {8, 12, 12}}};
  Json flux3 = heads_of_128, qwen = heads_of_128;
  flux3["axes_dims_rope"] = {32, 32, 32, 32};
  qwen["axes_dims_rope"] = {16, 56, 56};
  qwen["num_layers"] = 6;  // what is rounded is more than what stays as it is
  Json sana = {{"num_layers", 5},
               {"num_attention_heads", 16},
               {"cross_attention_head_dim", 64},
               {"cross_attention_dim", 128}};
  const Json size = {{"width", 64}, {"height", 64}};
  Json as_given = size;
  as_given["use_resolution_binning"] = false;
  return {{"krea2", "Krea2Transformer2DModel", "krea2", krea2, size},
          {"flux3_klein", "Flux3Transformer2DModel", "flux3", flux3, size},
          {"qwen_image_21", "QwenImage21Transformer2DModel", "qwen_image", qwen, size},
          {"sana", "SanaTransformer2DModel", "sana", sana, as_given, /*told_by_shapes=*/false},
          {"sana_sprint", "SanaTransformer2DModel", "sana", sana, as_given, false}};
}

INSTANTIATE_TEST_SUITE_P(Gguf, NewerFamilies, ::testing::ValuesIn(newer_families()),
                         [](const auto& info) { return std::string(info.param.model); });

TEST(Gguf, TheAutoencoderOfSanaInTheOriginalsNamesIsAComponent) {
  const fs::path model = source_path("tests/goldens/pipelines/sana/model");
  const Json size = {{"width", 64}, {"height", 64}, {"use_resolution_binning", false}};
  expect_folders_image("vae", model / "vae", model, size);
}

TEST(Gguf, ATransformerOfStableDiffusion3IsAComponent) {
  TempFolder temp;
  const fs::path model = source_path("tests/goldens/pipelines/sd35/model");
  Json config = read_json_file(model / "transformer/config.json");
  config["attention_head_dim"] = 64;
  config["num_attention_heads"] = 2;
  config["caption_projection_dim"] = 128;
  write_component(temp / "transformer", config, "SD3Transformer2DModel");
  // Modulations stay as they are, and are most of so small a network.
  expect_same_with("transformer", temp / "transformer", "fp32", model);
}

TEST(Gguf, ATextEncoderInLlamaNamesIsAComponent) {
  TempFolder temp;
  Json config = read_json_file(klein() / "text_encoder/config.json");
  config["head_dim"] = 32;
  config["intermediate_size"] = 256;
  write_component(temp / "text_encoder", config, "Qwen3ForCausalLM");
  expect_same_with("text_encoder", temp / "text_encoder", "fp32");
}

// What a component's file in the original's names holds, by the network's names.
std::shared_ptr<const WeightStore> weights_in(const fs::path& file) {
  auto found = read_component_file(gguf_catalogue(), "text_encoder", file);
  auto network = gguf_catalogue().find_network(found->class_name)->make(found->config, "test");
  return open_original_weights(io::TensorFiles::open_file(file), *network,
                               original_layout(*network, found->original->layout), "", "test");
}

// Rows of queries and keys are in another order in llama.cpp's files.
TEST(Gguf, RowsOfEncodedWeightsAreMovedAsTheyAreStored) {
  TempFolder temp;
  Json text = {{"model_type", "mistral"},   {"vocab_size", 40},       {"hidden_size", 64},
               {"intermediate_size", 96},   {"num_hidden_layers", 2}, {"num_attention_heads", 2},
               {"num_key_value_heads", 1},  {"head_dim", 128},        {"rope_theta", 1e9},
               {"sliding_window", nullptr}, {"rms_norm_eps", 1e-5}};
  write_component(temp / "text_encoder", {{"text_config", text}},
                  "Mistral3ForConditionalGeneration");
  convert(gguf_catalogue(), {temp / "text_encoder", temp / "part.gguf", "", "", {}, "q8_0"});
  write_numbers(temp / "part.gguf", temp / "part.safetensors");
  auto encoded = weights_in(temp / "part.gguf"), numbers = weights_in(temp / "part.safetensors");
  for (const auto& [name, weight] : encoded->all())
    EXPECT_TRUE(weight->view().equal(numbers->all().at(name)->view())) << name;
  const std::string query = "model.language_model.layers.1.self_attn.q_proj.weight";
  EXPECT_EQ(encoded->all().at(query)->stored_as(), "q8_0");
  EXPECT_EQ(numbers->all().at(query)->stored_as(), "fp32");
}

TEST(Gguf, TheTextEncoderOfFlux2DevIsAComponent) {
  TempFolder temp;
  const fs::path model = source_path("tests/goldens/pipelines/flux2_dev/model");
  Json config = read_json_file(model / "text_encoder/config.json");
  config["text_config"]["head_dim"] = 128;
  config["text_config"]["intermediate_size"] = 256;
  write_component(temp / "text_encoder", config, "Mistral3ForConditionalGeneration");
  expect_same_with("text_encoder", temp / "text_encoder", "fp32", model);
}

TEST(Gguf, PartsOfQwenImageAreComponents) {
  TempFolder temp;
  const fs::path model = source_path("tests/goldens/pipelines/qwen_image/model");
  Json transformer = read_json_file(model / "transformer/config.json");
  transformer["attention_head_dim"] = 128;
  transformer["num_attention_heads"] = 1;
  transformer["axes_dims_rope"] = {16, 56, 56};
  write_component(temp / "transformer", transformer, "QwenImageTransformer2DModel");
  expect_same_with("transformer", temp / "transformer", "q8_0", model);
  // The language model alone, as llama.cpp has it.
  Json encoder = read_json_file(model / "text_encoder/config.json");
  encoder["vision_config"] = nullptr;
  encoder["text_config"]["intermediate_size"] = 256;
  write_component(temp / "text_encoder", encoder, "Qwen2_5_VLForConditionalGeneration");
  expect_same_with("text_encoder", temp / "text_encoder", "fp32", model);
}

// The embedded FLUX.2, whose heads no published model has: its config goes along.
TEST(Gguf, AComponentOfOneFileKeepsItsConfig) {
  TempFolder temp;
  fs::path folder = source_path("models/emoji/transformer");
  convert(gguf_catalogue(), {folder, temp / "part.gguf", "", "", {}});
  GenerateRequest request;
  request.model = source_path("models/emoji").string();
  request.inputs["prompt"] = "a red apple";
  request.config = {{"num_inference_steps", 1}, {"seed", 1}};
  Outcome expected = run(request);
  request.components["transformer"] = (temp / "part.gguf").string();
  EXPECT_TRUE(run(request).image.equal(expected.image));
}

// What a file of another program is taken for, whose names are llama.cpp's.
void expect_recognised(const std::string& network, const std::vector<const char*>& keys) {
  TempFolder temp;
  fs::path folder = source_path("tests/goldens/networks") / network;
  convert(gguf_catalogue(), {folder, temp / "a.gguf", "", "", {}});
  write_numbers(temp / "a.gguf", temp / "a.safetensors", /*with_config=*/false);
  auto found = read_component_file(gguf_catalogue(), "text_encoder", temp / "a.safetensors");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->original->layout, "llama.cpp");
  Json config = read_json_file(folder / "config.json");
  for (const char* key : keys) EXPECT_EQ(found->config[key], config[key]) << key;
}

TEST(Gguf, TextEncodersAreRecognisedByNamesAndShapes) {
  expect_recognised("t5_v11", {"d_model", "d_kv", "d_ff", "num_layers", "num_heads", "vocab_size",
                               "feed_forward_proj", "relative_attention_num_buckets"});
  expect_recognised("qwen3_shared_heads",
                    {"hidden_size", "intermediate_size", "num_hidden_layers", "vocab_size",
                     "num_attention_heads", "num_key_value_heads", "head_dim", "rms_norm_eps"});
}

// ------------------------------------------------------------------------------- inspection

TEST(Gguf, InspectionHasTypesByLayerAndWhatTheyTakeInMemory) {
  Json weights = inspect(source_path("tests/goldens/gguf/types.gguf").string())["weights"];
  EXPECT_EQ(weights["parameters_by_dtype"]["q4_k"], 3 * 512);
  EXPECT_EQ(weights["types_by_layer"]["filter"], Json({{"q8_0", 1}}));
  // 24 types of blocks and a filter in fp32, BF16 and the seven small tensors as they are.
  EXPECT_EQ(weights["memory_bytes"], 25 * 3 * 512 * 4 + 3 * 512 * 2 + 6 * (4 + 2 + 8 + 15));
  Json plain = inspect(source_path("tests/goldens/pipelines/sd15/model/unet").string());
  EXPECT_FALSE(plain["weights"].contains("memory_bytes"));
}

// ------------------------------------------------------------------------------- conversion

TEST(ConvertToGguf, RefusesTypesThatAreNotWritten) {
  TempFolder temp;
  fs::path folder = source_path("tests/goldens/pipelines/sd15/model");
  auto refused = [&](const std::string& type, const char* to) {
    return message_of<InvalidRequest>([&] {
      convert(gguf_catalogue(), {folder, temp / to, "", "", {}, type});
    });
  };
  EXPECT_THAT(refused("q6_k", "a.gguf"), HasSubstr("read, and not written"));
  EXPECT_THAT(refused("q6_k", "a.gguf"), HasSubstr("q8_0, q5_k, q5_1, q5_0, q4_k, q4_1, q4_0"));
  EXPECT_THAT(refused("q7", "a.gguf"), HasSubstr("no such type"));
  EXPECT_THAT(refused("q8_0", "a.safetensors"), HasSubstr("safetensors files are not written so"));
  EXPECT_THAT(refused("fp8", "a.gguf"), HasSubstr("no such type"));
  EXPECT_THAT(refused("fp8", "a"), HasSubstr("only one file is written so"));
  EXPECT_TRUE(temp.names().empty());
}

// Blocks of 256 for filters in rows of 256; rows of 32 and more in the type of 32 next above.
TEST(ConvertToGguf, RowsThatBlocksOf256DoNotFitAreWrittenInBlocksOf32) {
  TempFolder temp;
  fs::path folder = source_path("tests/goldens/pipelines/sd15/model");
  for (auto [type, smaller] : {std::pair{"q4_k", "q5_0"}, {"q5_k", "q5_1"}}) {
    fs::path file = temp / fmt::format("{}.gguf", type);
    convert(gguf_catalogue(), {folder, file, "", "", {}, type});
    Json types = inspect(file.string())["weights"]["parameters_by_dtype"];
    EXPECT_GT(types[type], 5'000);
    EXPECT_GT(types[smaller], 5'000);
  }
}

TEST(ConvertToGguf, AGgufBecomesAFolderOfItsNumbers) {
  TempFolder temp;
  fs::path folder = source_path("tests/goldens/pipelines/sd15/model");
  fs::path gguf = source_path("tests/goldens/gguf/sd15.gguf");
  convert(gguf_catalogue(), {gguf, temp / "folder", "", "", {}});
  GenerateRequest request = small_request(temp / "folder");
  request.components["tokenizer"] = (folder / "tokenizer").string();
  EXPECT_TRUE(run(request).image.equal(run(sd_request(gguf, folder)).image));
}

}  // namespace
}  // namespace omnirt::testing
