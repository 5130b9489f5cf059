#include "networks/t2i_adapter/config.hpp"

#include "nn/config_check.hpp"

namespace omnirt {

T2IAdapterConfig read_t2i_adapter_config(const Json& json, const std::string& where) {
  auto config = read_config<T2IAdapterConfig>(json, where);
  nn::ConfigCheck check(where);
  check.range("in_channels", config.in_channels, 1, 1 << 10);
  check.length("channels", config.channels.size(), 8);
  for (int64_t channels : config.channels) check.range("channels", channels, 4, 1 << 16);
  check.range("num_res_blocks", config.num_res_blocks, 1, 16);
  check.range("downscale_factor", config.downscale_factor, 1, 64);
  check.one_of("adapter_type", config.adapter_type,
               {"full_adapter", "full_adapter_xl", "light_adapter"});
  // As the reference builds it, only the second and third blocks change the width.
  for (size_t i = 3; config.adapter_type == "full_adapter_xl" && i < config.channels.size(); ++i) {
    check.expect(config.channels[i] == config.channels[i - 1], "channels",
                 std::to_string(config.channels[i]),
                 "from the third on all must be equal in a full_adapter_xl");
  }
  check.finish();
  return config;
}

}  // namespace omnirt
