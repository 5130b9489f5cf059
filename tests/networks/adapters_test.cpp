// Adapter files of every layout over the topologies of real models: which layers they name.
#include <gmock/gmock.h>

#include <fstream>
#include <set>

#include "io/safetensors_writer.hpp"
#include "networks/support.hpp"
#include "nn/original_layout.hpp"
#include "weights/adapters/resolve.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using adapters::AdapterFile;
using adapters::Resolution;
using adapters::Targets;
using ::testing::HasSubstr;

struct Tensor0 {
  std::string type = "F32";
  std::vector<int64_t> shape;
};
using Header = std::map<std::string, Tensor0>;

// A file with these tensors, all zeros, and what it is read as.
AdapterFile open(const Header& header, const io::FileMetadata& metadata = {},
                 const std::string& name = "adapter") {
  std::vector<std::byte> zeros(size_t{1} << 22);
  std::vector<io::TensorView> views;
  for (const auto& [key, tensor] : header) {
    size_t count = tensor.type == "F16" ? 2 : 4;
    for (int64_t size : tensor.shape) count *= static_cast<size_t>(size);
    views.push_back({key, tensor.type == "F16" ? io::Dtype::f16 : io::Dtype::f32, tensor.shape,
                     std::span(zeros).first(count)});
  }
  fs::path path = fs::temp_directory_path() /
                  ("omnirt-adapters-" + std::to_string(::getpid()) + name + ".safetensors");
  io::write_safetensors(path, views, metadata);
  AdapterFile file = adapters::open_adapter(path, "", "adapters[0]");
  fs::remove(path);
  return file;
}

// A header of tests/data/adapters.
AdapterFile open_real(const std::string& name) {
  Json json = read_json(source_path("tests/data/adapters/" + name + ".json"));
  Header header;
  for (const auto& [key, tensor] : json["tensors"].items())
    header[key] = {tensor[0], tensor[1].get<std::vector<int64_t>>()};
  return open(header, json["metadata"].get<io::FileMetadata>(), name);
}

// The networks of Stable Diffusion 1.5, without weights.
class StableDiffusion15 : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto folder = source_path("tests/data/configs/sd-v1-5");
    unet_ = make_network(read_json(folder / "unet/config.json")).release();
    text_ = make_network(read_json(folder / "text_encoder/config.json")).release();
  }
  static void TearDownTestSuite() {
    delete unet_;
    delete text_;
  }
  Resolution resolve(const AdapterFile& file) const {
    std::vector<Targets> targets;
    targets.emplace_back("text_encoder", *text_, false);
    targets.emplace_back("unet", *unet_, true);
    return adapters::resolve(file, targets, {"adapters[0]", ""});
  }
  static nn::Network* unet_;
  static nn::Network* text_;
};
nn::Network* StableDiffusion15::unet_ = nullptr;
nn::Network* StableDiffusion15::text_ = nullptr;

std::string told(const Resolution& found) {
  std::string text;
  for (const Finding& finding : found.findings) text += finding.text() + "\n";
  return text;
}

TEST_F(StableDiffusion15, TakesCloneofsimosNumberedLayersInTheirOrder) {
  for (const char* name : {"cloneofsimo_disney", "cloneofsimo_analog"}) {
    SCOPED_TRACE(name);
    AdapterFile file = open_real(name);
    Resolution found = resolve(file);
    EXPECT_EQ(told(found), "");
    EXPECT_EQ(file.layout, "cloneofsimo");
    EXPECT_EQ(found.layers["unet"].size(), 144u);
    EXPECT_EQ(found.layers["text_encoder"].size(), 48u);
    EXPECT_EQ(found.changes.size(), 192u);
  }
  EXPECT_EQ(open_real("cloneofsimo_disney").tokens.size(), 2u);
}

TEST_F(StableDiffusion15, TakesAPeftAdapterOfItsTextEncoder) {
  Resolution found = resolve(open_real("peft_clip_sd15"));
  EXPECT_EQ(told(found), "");
  EXPECT_EQ(found.layers.size(), 1u);
  EXPECT_EQ(found.layers["text_encoder"].size(), 24u);
}

// The layers that kohya's trainer changes, by the names that it makes of diffusers'.
Header kohya(const Targets& targets, const std::string& start,
             const std::vector<std::string>& kinds) {
  Header header;
  for (const std::string& path : targets.paths()) {
    const auto* layer = targets.find(path);
    bool wanted = layer && std::ranges::any_of(kinds, [&](const std::string& kind) {
                    return path.ends_with(kind);
                  });
    if (!wanted) continue;
    std::string name = start + path;
    std::ranges::replace(name, '.', '_');
    std::vector<int64_t> down = layer->weight->shape, up(down.size(), 1);
    up[0] = down[0];
    down[0] = up[1] = 4;
    header[name + ".lora_down.weight"] = {"F16", down};
    header[name + ".lora_up.weight"] = {"F16", up};
    header[name + ".alpha"] = {"F16", {}};
  }
  return header;
}

TEST_F(StableDiffusion15, TakesAsManyLayersAsKohyasTrainerWrites) {
  Header header = kohya(
      Targets("unet", *unet_, true), "lora_unet_",
      {"to_q", "to_k", "to_v", "to_out.0", "ff.net.0.proj", "ff.net.2", ".proj_in", ".proj_out"});
  header.merge(kohya(Targets("text_encoder", *text_, false), "lora_te_text_model_",
                     {"_proj", "fc1", "fc2"}));
  Resolution found = resolve(open(header, {{"ss_base_model_version", "sd_v1"}}));
  EXPECT_EQ(told(found), "");
  EXPECT_EQ(found.layers["unet"].size(), 192u);
  EXPECT_EQ(found.layers["text_encoder"].size(), 72u);
}

TEST_F(StableDiffusion15, KnowsALayerByEveryNameThatFilesGaveIt) {
  const std::string block = "down_blocks.1.attentions.0.transformer_blocks.0.";
  const std::string flat = "down_blocks_1_attentions_0_transformer_blocks_0_";
  struct Name {
    std::string up, down, path;
  };
  const std::vector<Name> names{
      {"unet." + block + "attn1.processor.to_out_lora.up.weight",
       "unet." + block + "attn1.processor.to_out_lora.down.weight", block + "attn1.to_out.0"},
      {block + "attn1.processor.to_q_lora.up.weight",
       block + "attn1.processor.to_q_lora.down.weight", block + "attn1.to_q"},
      {"unet." + block + "attn2.to_k.lora.up.weight",
       "unet." + block + "attn2.to_k.lora.down.weight", block + "attn2.to_k"},
      {"base_model.model." + block + "attn2.to_v.lora_B.weight",
       "base_model.model." + block + "attn2.to_v.lora_A.weight", block + "attn2.to_v"},
      {"unet." + block + "ff.net.0.proj.lora_B.default.weight",
       "unet." + block + "ff.net.0.proj.lora_A.default.weight", block + "ff.net.0.proj"},
      {"lora_unet_" + flat + "ff_net_2.lora_up.weight",
       "lora_unet_" + flat + "ff_net_2.lora_down.weight", block + "ff.net.2"},
      {"lora_unet_input_blocks_4_1_transformer_blocks_0_attn1_to_v.lora_up.weight",
       "lora_unet_input_blocks_4_1_transformer_blocks_0_attn1_to_v.lora_down.weight",
       block + "attn1.to_v"},
      {"diffusion_model.input_blocks.4.1.transformer_blocks.0.attn2.to_q.lora_up.weight",
       "diffusion_model.input_blocks.4.1.transformer_blocks.0.attn2.to_q.lora_down.weight",
       block + "attn2.to_q"},
      {"lora_unet_time_embedding_linear_1.lora_up.weight",
       "lora_unet_time_embedding_linear_1.lora_down.weight", "time_embedding.linear_1"},
      {"text_encoder.text_model.encoder.layers.3.self_attn.to_out_lora.up.weight",
       "text_encoder.text_model.encoder.layers.3.self_attn.to_out_lora.down.weight",
       "encoder.layers.3.self_attn.out_proj"},
      {"text_encoder.encoder.layers.3.mlp.fc1.lora_linear_layer.up.weight",
       "text_encoder.encoder.layers.3.mlp.fc1.lora_linear_layer.down.weight",
       "encoder.layers.3.mlp.fc1"},
      {"lora_te1_text_model_encoder_layers_3_mlp_fc2.lora_up.weight",
       "lora_te1_text_model_encoder_layers_3_mlp_fc2.lora_down.weight", "encoder.layers.3.mlp.fc2"},
      {"text_encoder.text_model.encoder.layers.3.self_attn.q_proj.lora_B.weight",
       "text_encoder.text_model.encoder.layers.3.self_attn.q_proj.lora_A.weight",
       "encoder.layers.3.self_attn.q_proj"},
  };
  Targets unet("unet", *unet_, true), text("text_encoder", *text_, false);
  for (const Name& name : names) {
    SCOPED_TRACE(name.up);
    const auto* layer = unet.find(name.path) ? unet.find(name.path) : text.find(name.path);
    ASSERT_NE(layer, nullptr);
    int64_t out = layer->weight->shape[0], in = layer->weight->shape[1];
    Resolution found = resolve(open({{name.up, {"F32", {out, 2}}}, {name.down, {"F32", {2, in}}}}));
    EXPECT_EQ(told(found), "");
    ASSERT_EQ(found.changes.size(), 1u);
    EXPECT_EQ(found.changes[0].param->name, name.path + ".weight");
    EXPECT_EQ(found.changes[0].rank, 2);
  }
}

TEST_F(StableDiffusion15, NamesTheNearestLayerOfAKeyThatMatchesNone) {
  Resolution found = resolve(open(
      {{"lora_unet_down_blocks_0_attentions_0_transformer_blocks_0_attn1_to_qq.lora_up.weight",
        {"F32", {320, 4}}},
       {"lora_unet_down_blocks_0_attentions_0_transformer_blocks_0_attn1_to_qq.lora_down.weight",
        {"F32", {4, 320}}}}));
  EXPECT_TRUE(found.changes.empty());
  EXPECT_THAT(told(found), HasSubstr("matches no layer of the component unet"));
  EXPECT_THAT(told(found), HasSubstr("attn1_to_q"));
}

TEST_F(StableDiffusion15, RefusesLayersOfAnotherShape) {
  std::string key = "unet.mid_block.attentions.0.transformer_blocks.0.attn2.to_k.";
  Resolution found = resolve(open(
      {{key + "lora_B.weight", {"F32", {1280, 4}}}, {key + "lora_A.weight", {"F32", {4, 1024}}}}));
  EXPECT_THAT(told(found), HasSubstr("down [4, 1024] does not fit the model's [1280, 768]"));
}

TEST_F(StableDiffusion15, RefusesWhatIsNotApplied) {
  AdapterFile oft =
      open({{"lora_unet_mid_block_attentions_0_proj_in.oft_blocks", {"F32", {4, 8, 8}}}});
  ASSERT_EQ(oft.problems.size(), 1u);
  EXPECT_THAT(oft.problems[0].text(), HasSubstr("OFT"));
  AdapterFile half =
      open({{"lora_unet_mid_block_attentions_0_proj_in.lora_up.weight", {"F32", {1280, 4}}}});
  ASSERT_EQ(half.problems.size(), 1u);
  EXPECT_THAT(half.problems[0].text(), HasSubstr("not complete: it has only up"));
  AdapterFile model = open({{"conv_in.weight", {"F32", {4, 4, 3, 3}}}});
  ASSERT_EQ(model.problems.size(), 1u);
  EXPECT_THAT(model.problems[0].text(), HasSubstr("no adapter"));
}

// cloneofsimo's files count layers, and say of which classes in their metadata.
TEST_F(StableDiffusion15, RefusesAListOfClassesThatIsDeepWideOrLarge) {
  const Header layer{{"unet:0:up", {"F32", {320, 4}}}, {"unet:0:down", {"F32", {4, 320}}}};
  auto refusal = [&](const std::string& classes) {
    try {
      resolve(open(layer, {{"unet", classes}}));
    } catch (const InvalidFile& refused) {
      return std::string(refused.what());
    }
    return std::string();
  };
  std::string keys = R"({"k0":1)";
  for (int i = 1; i < 5000; ++i) keys += R"(,"k)" + std::to_string(i) + R"(":1)";
  EXPECT_THAT(refusal(keys + "}"), HasSubstr("more than 4096 keys"));
  EXPECT_THAT(refusal(std::string(100'000, '[')), HasSubstr("nested deeper"));
  EXPECT_THAT(refusal("[\"" + std::string(1 << 20, 'x') + "\"]"), HasSubstr("1048576 bytes"));
  EXPECT_EQ(refusal(R"(["CrossAttention", "Attention", "GEGLU"])"), "");
  EXPECT_EQ(refusal("any text of another program"), "");
}

TEST(AdapterFile, RefusesAPickleWithTheWayToConvertIt) {
  fs::path path = fs::temp_directory_path() / "omnirt-learned_embeds.bin";
  std::ofstream(path, std::ios::binary) << "PK\x03\x04 archive/data.pkl";
  try {
    adapters::open_adapter(path, "", "adapters[0]");
    FAIL() << "it was read";
  } catch (const InvalidRequest& refused) {
    EXPECT_THAT(refused.what(), HasSubstr("safetensors.torch.save_file"));
  }
  fs::remove(path);
}

// What metadata says under _lora is what the loader finds, for every kind of network.
TEST(AdapterLayouts, AreThoseThatMetadataNames) {
  for (const nn::NetworkInfo& info : catalogue().networks) {
    SCOPED_TRACE(info.class_name);
    auto network = usual_network(info);
    const nn::Metadata metadata = network->metadata();
    auto told = metadata["_lora"].get<std::set<std::string>>();
    Targets targets("denoiser", *network, true);
    for (const Param* param : network->params()) {
      if (param->shape.size() < 2 || !param->name.ends_with(".weight")) continue;
      std::string path = param->name.substr(0, param->name.rfind('.')), kohya = path;
      std::ranges::replace(kohya, '.', '_');
      EXPECT_EQ(targets.find(path) != nullptr, told.contains("diffusers")) << path;
      EXPECT_EQ(targets.find(path) != nullptr, told.contains("peft")) << path;
      EXPECT_EQ(targets.find(kohya) != nullptr, told.contains("kohya")) << kohya;
    }
    EXPECT_EQ(!targets.numbered({}).empty(), told.contains("cloneofsimo"));
    EXPECT_EQ(!network->original_layouts().empty(), told.contains("original"));
    EXPECT_EQ(!network->adapter_names().token_table.empty(), told.contains("textual_inversion"));
    std::set<std::string> known{"diffusers",   "peft",     "kohya",
                                "cloneofsimo", "original", "textual_inversion"};
    for (const nn::OriginalLayout& layout : network->adapter_names().layouts) {
      EXPECT_TRUE(told.contains(layout.name)) << layout.name;
      known.insert(layout.name);
    }
    for (const nn::NamedAdapters& each : nn::named_adapters()) {
      const auto originals = network->original_layouts();
      const bool has = std::ranges::any_of(
          originals, [&](const nn::OriginalLayout& own) { return own.name == each.original; });
      EXPECT_EQ(told.contains(each.name), has) << each.name;
      known.insert(each.name);
    }
    for (const std::string& layout : told) EXPECT_TRUE(known.contains(layout)) << layout;
  }
}

// An original's names without a prefix, in a network for which such files have no name of their
// own.
TEST(AdapterLayouts, OfOriginalNamesAreTheOriginals) {
  auto transformer = make_network(
      read_json(source_path("tests/goldens/networks/z_image_transformer/config.json")));
  std::vector<Targets> targets;
  targets.emplace_back("transformer", *transformer, true);
  const auto layouts = transformer->original_layouts();
  ASSERT_FALSE(layouts.empty());
  for (const Param* param : transformer->params()) {
    auto place = nn::original_place(layouts.front(), *param);
    const bool other = place && place->form == nn::Form::same && place->name != param->name &&
                       place->name.ends_with(".weight") && place->shape.size() == 2;
    if (!other) continue;
    const std::string name = place->name.substr(0, place->name.rfind('.'));
    const Header header{{name + ".lora_A.weight", {"F32", {2, place->shape[1]}}},
                        {name + ".lora_B.weight", {"F32", {place->shape[0], 2}}}};
    EXPECT_EQ(adapters::resolve(open(header), targets, {"adapters[0]", ""}).layout, "original");
    return;
  }
  ADD_FAILURE() << "the original layout renames no matrix";
}

TEST(AdapterLayouts, OfAPixArtTransformerAreRead) {
  auto transformer = make_network(
      read_json(source_path("tests/data/configs/pixart-sigma/transformer/config.json")));
  const Tensor0 up{"F32", {1152, 4}}, down{"F32", {4, 1152}};
  const std::string layer = "transformer_blocks.3.attn1.to_q";
  for (const Header& header :
       {Header{{"transformer." + layer + ".lora_A.weight", down},
               {"transformer." + layer + ".lora_B.weight", up}},
        Header{{"base_model.model." + layer + ".lora_A.weight", down},
               {"base_model.model." + layer + ".lora_B.weight", up}},
        Header{{"lora_transformer_transformer_blocks_3_attn1_to_q.lora_down.weight", down},
               {"lora_transformer_transformer_blocks_3_attn1_to_q.lora_up.weight", up}}}) {
    std::vector<Targets> targets;
    targets.emplace_back("transformer", *transformer, true);
    Resolution found = adapters::resolve(open(header), targets, {"adapters[0]", ""});
    EXPECT_EQ(told(found), "") << header.begin()->first;
    ASSERT_EQ(found.changes.size(), 1u) << header.begin()->first;
    EXPECT_EQ(found.changes[0].param->name, layer + ".weight");
  }
}

}  // namespace
}  // namespace omnirt::testing
