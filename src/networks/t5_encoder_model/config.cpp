#include "networks/t5_encoder_model/config.hpp"

#include "nn/config_check.hpp"

namespace omnirt {
namespace {

constexpr std::string_view gated_prefix = "gated-";

void check_t5_config(const T5Config& config, const std::string& where) {
  nn::ConfigCheck check(where);
  check.range("vocab_size", config.vocab_size, 1, 1 << 24);
  check.range("d_model", config.d_model, 1, 1 << 16);
  check.range("d_kv", config.d_kv, 1, 1 << 12);
  check.range("d_ff", config.d_ff, 1, 1 << 18);
  check.range("num_layers", config.num_layers, 1, 256);
  check.range("num_heads", config.num_heads, 1, 1 << 12);
  // Of each direction's half of the buckets a half is exact: there must be one at least.
  check.range("relative_attention_num_buckets", config.relative_attention_num_buckets, 4, 1 << 16);
  check.divisible("relative_attention_num_buckets", config.relative_attention_num_buckets,
                  "the two directions", 2);
  check.range("relative_attention_max_distance", config.relative_attention_max_distance,
              config.relative_attention_num_buckets / 4 + 1, 1 << 24);
  check.positive("layer_norm_epsilon", config.layer_norm_epsilon);
  check.one_of("feed_forward_proj", config.feed_forward_proj,
               {"relu", "gelu", "gelu_new", "silu", "gated-relu", "gated-gelu", "gated-silu"});
  check.finish();
}

}  // namespace

bool T5Config::gated() const {
  return feed_forward_proj.starts_with(gated_prefix);
}

ops::Activation T5Config::activation() const {
  // What T5 v1.1 calls gelu is the approximation by tanh (transformers T5Config.__post_init__).
  if (feed_forward_proj == "gated-gelu") return ops::Activation::gelu_tanh;
  std::string name = gated() ? feed_forward_proj.substr(gated_prefix.size()) : feed_forward_proj;
  return ops::activation_from_name(name, "feed_forward_proj");
}

T5Config read_t5_config(const Json& json, const std::string& where) {
  auto config = read_config<T5Config>(json, where);
  check_t5_config(config, where);
  return config;
}

T5Config read_umt5_config(const Json& json, const std::string& where) {
  auto config = read_config<UMT5Config>(json, where);
  check_t5_config(config, where);
  return config;
}

}  // namespace omnirt
