#pragma once
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/config.hpp"
#include "nn/autoencoder_config.hpp"

namespace omnirt {

// config.json of AutoencoderKLFlux2; defaults are those of the class in diffusers.
struct AutoencoderKLFlux2Config {
  int64_t in_channels = 3;
  int64_t out_channels = 3;
  std::vector<std::string> down_block_types = std::vector<std::string>(4, "DownEncoderBlock2D");
  std::vector<std::string> up_block_types = std::vector<std::string>(4, "UpDecoderBlock2D");
  std::vector<int64_t> block_out_channels{128, 256, 512, 512};
  std::optional<std::vector<int64_t>> decoder_block_out_channels;  // null: as the encoder's
  int64_t layers_per_block = 2;
  std::string act_fn = "silu";
  int64_t latent_channels = 32;
  int64_t norm_num_groups = 32;
  bool use_quant_conv = true;
  bool use_post_quant_conv = true;
  bool mid_block_add_attention = true;
  double batch_norm_eps = 1e-4;
  // Pixels a side of tiles; of a list the first counts.
  std::variant<int64_t, std::vector<int64_t>> sample_size = int64_t{1024};

  int64_t tile_size() const { return nn::first_of(sample_size); }

  static void visit(auto& self, auto& v) {
    v("in_channels", self.in_channels);
    v("out_channels", self.out_channels);
    v("down_block_types", self.down_block_types);
    v("up_block_types", self.up_block_types);
    v("block_out_channels", self.block_out_channels);
    v("decoder_block_out_channels", self.decoder_block_out_channels);
    v("layers_per_block", self.layers_per_block);
    v("act_fn", self.act_fn);
    v("latent_channels", self.latent_channels);
    v("norm_num_groups", self.norm_num_groups);
    v("use_quant_conv", self.use_quant_conv);
    v("use_post_quant_conv", self.use_post_quant_conv);
    v("mid_block_add_attention", self.mid_block_add_attention);
    v("batch_norm_eps", self.batch_norm_eps);
    v("sample_size", self.sample_size);
    v.only("patch_size", {Json::array({2, 2})});  // the reference's pipelines know no other
    v.only("quantization_config", {});
    // What only training changes, and what some files copy from AutoencoderKL, which this class
    // does not have.
    v.ignore({"batch_norm_momentum", "force_upcast"});
  }

  const std::vector<int64_t>& decoder_channels() const {
    return decoder_block_out_channels ? *decoder_block_out_channels : block_out_channels;
  }
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
AutoencoderKLFlux2Config read_autoencoder_kl_flux2_config(const Json& json,
                                                          const std::string& where);

}  // namespace omnirt
