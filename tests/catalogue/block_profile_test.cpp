#include <gtest/gtest.h>

#include <map>

#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {

// What a network says of its repeated blocks is how a profile names them.
TEST(BlockProfile, NamesTheBlocksThatANetworkRepeats) {
  GenerateRequest request = golden_request("flux2_klein/text2image");
  request.config["num_inference_steps"] = 1;
  request.config["profile"] = true;
  std::map<std::string, size_t> blocks;
  for (const BlockProfileRow& row : run(request).report.block_profile) {
    if (row.component != "transformer") continue;
    ++blocks[row.repeats];
    EXPECT_EQ(row.repeats == "Flux2TransformerBlock", row.block.starts_with("transformer_blocks."));
  }
  EXPECT_GT(blocks["Flux2TransformerBlock"], 0u);
  EXPECT_GT(blocks["Flux2SingleTransformerBlock"], 0u);
  EXPECT_GT(blocks[""], 0u);
}

}  // namespace
}  // namespace omnirt::testing
