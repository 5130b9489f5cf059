#include "networks/autoencoder_kl/ldm_layout.hpp"

#include <fmt/format.h>

#include "networks/autoencoder_kl/model.hpp"

namespace omnirt {
namespace {

using Rules = std::vector<nn::LayoutRule>;

// Norms and convolutions have the same names in both.
const Rules& resnet_rules() {
  static const Rules rules{{"conv_shortcut", "nin_shortcut"}};
  return rules;
}

const Rules& attention_rules() {
  static const Rules rules{{"group_norm", "norm"},
                           {"to_q", "q", nn::Form::conv1x1},
                           {"to_k", "k", nn::Form::conv1x1},
                           {"to_v", "v", nn::Form::conv1x1},
                           {"to_out.0", "proj_out", nn::Form::conv1x1}};
  return rules;
}

void add_resnets(Rules& rules, const nn::ModuleList<nn::ResnetBlock2D>& resnets,
                 const std::string& to, size_t first) {
  for (size_t i = 0; i < resnets.size(); ++i) {
    rules.push_back(
        {resnets[i].path(), to + std::to_string(first + i), nn::Form::same, 0, 1, resnet_rules()});
  }
}

// conv_in, the middle and the way out, which encoder and decoder share.
void add_frame(Rules& rules, const nn::AutoencoderMidBlock2D& mid, const std::string& name) {
  add_resnets(rules, mid.resnets, name + ".mid.block_", 1);
  if (!mid.attentions.empty()) {
    rules.push_back(
        {mid.attentions[0].path(), name + ".mid.attn_1", nn::Form::same, 0, 1, attention_rules()});
  }
  rules.push_back({name + ".conv_in", name + ".conv_in"});
  rules.push_back({name + ".conv_norm_out", name + ".norm_out"});
  rules.push_back({name + ".conv_out", name + ".conv_out"});
}

}  // namespace

nn::OriginalLayout ldm_layout(const AutoencoderKL& vae) {
  Rules rules;
  const auto& down = vae.encoder.down_blocks;
  for (size_t i = 0; i < down.size(); ++i) {
    add_resnets(rules, down[i].resnets, fmt::format("encoder.down.{}.block.", i), 0);
    if (!down[i].downsamplers.empty())
      rules.push_back(
          {down[i].downsamplers[0].path(), fmt::format("encoder.down.{}.downsample", i)});
  }
  const auto& up = vae.decoder.up_blocks;
  for (size_t i = 0; i < up.size(); ++i) {
    size_t level = up.size() - 1 - i;
    add_resnets(rules, up[i].resnets, fmt::format("decoder.up.{}.block.", level), 0);
    if (!up[i].upsamplers.empty())
      rules.push_back({up[i].upsamplers[0].path(), fmt::format("decoder.up.{}.upsample", level)});
  }
  add_frame(rules, vae.encoder.mid_block, "encoder");
  add_frame(rules, vae.decoder.mid_block, "decoder");
  rules.push_back({"quant_conv", "quant_conv"});
  rules.push_back({"post_quant_conv", "post_quant_conv"});
  return {"ldm", std::move(rules), {"loss"}};
}

}  // namespace omnirt
