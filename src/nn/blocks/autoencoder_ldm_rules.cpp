#include "nn/blocks/autoencoder_ldm_rules.hpp"

#include <fmt/format.h>

namespace omnirt::nn {
namespace {

using Rules = std::vector<LayoutRule>;

// Norms and convolutions have the same names in both.
const Rules& resnet_rules() {
  static const Rules rules{{"conv_shortcut", "nin_shortcut"}};
  return rules;
}

const Rules& attention_rules() {
  static const Rules rules{{"group_norm", "norm"},
                           {"to_q", "q", Form::conv1x1},
                           {"to_k", "k", Form::conv1x1},
                           {"to_v", "v", Form::conv1x1},
                           {"to_out.0", "proj_out", Form::conv1x1}};
  return rules;
}

void add_resnets(Rules& rules, const ModuleList<ResnetBlock2D>& resnets, const std::string& to,
                 size_t first) {
  for (size_t i = 0; i < resnets.size(); ++i) {
    rules.push_back(
        {resnets[i].path(), to + std::to_string(first + i), Form::same, 0, 1, resnet_rules()});
  }
}

// conv_in, the middle and the output layers, which encoder and decoder share.
void add_frame(Rules& rules, const AutoencoderMidBlock2D& mid, const std::string& name) {
  add_resnets(rules, mid.resnets, name + ".mid.block_", 1);
  if (!mid.attentions.empty()) {
    rules.push_back(
        {mid.attentions[0].path(), name + ".mid.attn_1", Form::same, 0, 1, attention_rules()});
  }
  rules.push_back({name + ".conv_in", name + ".conv_in"});
  rules.push_back({name + ".conv_norm_out", name + ".norm_out"});
  rules.push_back({name + ".conv_out", name + ".conv_out"});
}

}  // namespace

Rules ldm_autoencoder_rules(const AutoencoderEncoder& encoder, const AutoencoderDecoder& decoder) {
  Rules rules;
  const auto& down = encoder.down_blocks;
  for (size_t i = 0; i < down.size(); ++i) {
    add_resnets(rules, down[i].resnets, fmt::format("encoder.down.{}.block.", i), 0);
    if (!down[i].downsamplers.empty())
      rules.push_back(
          {down[i].downsamplers[0].path(), fmt::format("encoder.down.{}.downsample", i)});
  }
  const auto& up = decoder.up_blocks;
  for (size_t i = 0; i < up.size(); ++i) {
    size_t level = up.size() - 1 - i;
    add_resnets(rules, up[i].resnets, fmt::format("decoder.up.{}.block.", level), 0);
    if (!up[i].upsamplers.empty())
      rules.push_back({up[i].upsamplers[0].path(), fmt::format("decoder.up.{}.upsample", level)});
  }
  add_frame(rules, encoder.mid_block, "encoder");
  add_frame(rules, decoder.mid_block, "decoder");
  return rules;
}

}  // namespace omnirt::nn
