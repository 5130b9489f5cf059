#include "blocks/denoise.hpp"
#include "blocks/encode_prompt.hpp"
#include "blocks/export_images.hpp"
#include "blocks/image_size.hpp"
#include "blocks/latents.hpp"
#include "blocks/start_noise.hpp"
#include "nn/blocks/attention.hpp"
#include "nn/blocks/time_embedding.hpp"
#include "nn/config_check.hpp"
#include "nn/denoiser_network.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"
#include "pipeline/plugin.hpp"

using namespace omnirt;

// unet/config.json. Any key not visited here is an error, because it could change the image.
struct ConvDenoiserConfig {
  int64_t in_channels = 4;
  int64_t hidden_channels = 32;
  int64_t num_layers = 2;
  int64_t cross_attention_dim = 768;
  int64_t sample_size = 64;

  static void visit(auto& self, auto& v) {
    v("in_channels", self.in_channels);
    v("hidden_channels", self.hidden_channels);
    v("num_layers", self.num_layers);
    v("cross_attention_dim", self.cross_attention_dim);
    v("sample_size", self.sample_size);
    v.only("act_fn", {"silu"});  // any other value is an error
    v.ignore({"dropout"});       // no effect on inference
  }
};

ConvDenoiserConfig read_conv_denoiser_config(const Json& json, const std::string& where) {
  auto config = read_config<ConvDenoiserConfig>(json, where);
  nn::ConfigCheck check(where);  // untrusted files: bound every size
  check.range("in_channels", config.in_channels, 1, 1 << 12);
  check.range("hidden_channels", config.hidden_channels, 1, 1 << 14);
  check.range("num_layers", config.num_layers, 1, 64);
  check.range("cross_attention_dim", config.cross_attention_dim, 1, 1 << 16);
  check.range("sample_size", config.sample_size, 1, 1 << 14);
  check.divisible("hidden_channels", config.hidden_channels, "the attention's heads", 4);
  check.finish();
  return config;
}

// A convolution with a time embedding, followed by cross-attention to the prompt.
class ConvBlock final : public nn::Module {
 public:
  ConvBlock(Module* parent, const std::string& name, const ConvDenoiserConfig& config)
      : Module(parent, name),
        conv(this, "conv", config.hidden_channels, config.hidden_channels),
        attn(this, "attn",
             {.dim = config.hidden_channels,
              .context_dim = config.cross_attention_dim,
              .heads = 4,
              .head_dim = config.hidden_channels / 4}) {}
  const char* class_name() const override { return "ConvBlock"; }

  // x {B, C, H, W}, temb {B, C}, text {B, T, D}; returns {B, C, H, W}.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& temb, const Tensor& text) const {
    return cx.segment(path(), [&] {
      Tensor h = conv.forward(cx, x, {.activation = ops::Activation::silu, .sample_bias = &temb});
      Tensor tokens = nn::tokens_of(h);
      return nn::image_of(attn.forward(cx, tokens, &text, tokens), h.size(2), h.size(3));
    });
  }

  nn::Conv2d conv;
  nn::Attention attn;
};

// The network's inputs. The denoise loop passes them by these names.
struct ConvDenoiserInput {
  Tensor sample;                 // {B, C, H, W}
  Tensor timestep;               // {B} or {1}
  Tensor encoder_hidden_states;  // {B, T, D}

  static void visit(auto& self, auto& v) {
    v("sample", self.sample);
    v("timestep", self.timestep);
    v("encoder_hidden_states", self.encoder_hidden_states);
  }
};

class ConvDenoiser final : public nn::DenoiserNetwork {
 public:
  ConvDenoiser(const ConvDenoiserConfig& config, Json json)
      : DenoiserNetwork(std::move(json)),
        conv_in(this, "conv_in", config.in_channels, config.hidden_channels),
        time_embedding(this, "time_embedding",
                       {.in = config.hidden_channels, .out = config.hidden_channels}),
        blocks(this, "blocks"),
        conv_out(this, "conv_out", config.hidden_channels, config.in_channels),
        config_(config) {
    for (int64_t i = 0; i < config.num_layers; ++i) blocks.add(config);
  }
  const char* class_name() const override { return "ConvDenoiser"; }
  nn::Metadata metadata() const override {
    return nn::feature_metadata(
        *this, {.no_split_modules = {"ConvBlock"}, .repeated_blocks = {"ConvBlock"}});
  }

  Tensor predict(Context& cx, const Values& inputs) const override {
    auto input = nn::fill_inputs<ConvDenoiserInput>(cx, inputs);
    Tensor timestep = input.timestep.to(at::kFloat).expand({input.sample.size(0)});
    Tensor waves = cx.ops().timestep_embedding(cx, {timestep, config_.hidden_channels, true, 0});
    Tensor temb = time_embedding.forward(cx, nn::in_form(cx, waves), nullptr);
    Tensor text = nn::in_form(cx, input.encoder_hidden_states);
    Tensor h = conv_in.forward(cx, nn::in_form(cx, input.sample));
    for (size_t i = 0; i < blocks.size(); ++i) h = blocks[i].forward(cx, h, temb, text);
    return conv_out.forward(cx, h);
  }
  std::vector<nn::NetworkInput> inputs() const override {
    return nn::input_names<ConvDenoiserInput>();
  }
  int64_t in_channels() const override { return config_.in_channels; }
  int64_t out_channels() const override { return config_.in_channels; }
  std::array<int64_t, 2> sample_size() const override {
    return {config_.sample_size, config_.sample_size};
  }
  int64_t context_dim() const override { return config_.cross_attention_dim; }

  nn::Conv2d conv_in;
  nn::TimestepEmbedding time_embedding;
  nn::ModuleList<ConvBlock> blocks;
  nn::Conv2d conv_out;

 private:
  ConvDenoiserConfig config_;
};

nn::NetworkInfo conv_denoiser_info() {
  return {.class_name = "ConvDenoiser",
          .make = nn::network_of<ConvDenoiser, read_conv_denoiser_config>,
          .summary = "convolutions with cross-attention to the prompt",
          .weights_base = "diffusion_pytorch_model",
          .role = "denoiser"};
}

Family conv_family() {
  Family family;
  family.name = "conv";
  family.tasks = {{"text2image", {}}};
  BlockList& list = family.blocks;
  append(list, std::make_shared<blocks::SizeOfImage>("image_size",
                                                     blocks::SizeOfImage::Unset::model, Trigger{}));
  append(list, std::make_shared<blocks::StartNoise>());
  append(list, std::make_shared<blocks::EncodePrompt>());
  append(list, std::make_shared<blocks::SetTimesteps>(Trigger{}));
  append(list, std::make_shared<blocks::PrepareLatents>(Trigger{}));
  append(list, std::make_shared<blocks::DenoiseLoop>());  // uses the component "unet"
  append(list, std::make_shared<blocks::DecodeLatents>());
  append(list, std::make_shared<blocks::ExportImages>());
  ModelSpec entry;
  entry.id = "conv";
  entry.task = "text2image";
  entry.default_config = {{"num_inference_steps", 10}, {"guidance_scale", 3.0}};
  entry.summary = "a worked example of a new network";
  entry.example = "omnirt generate --model conv --prompt \"a red apple\" -o apple.png";
  family.entries = {entry};
  family.pipeline_classes = {"ConvPipeline"};
  family.variant_of = [](const PipelineFolder&) { return std::string("conv"); };
  return family;
}

extern "C" Plugin omnirt_plugin() {
  return {.name = "conv", .add = [](Catalogue& catalogue) {
            catalogue.networks.push_back(conv_denoiser_info());
            catalogue.families.push_back(conv_family());
          }};
}
