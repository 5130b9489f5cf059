#include "io/sniff.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>

namespace omnirt::io {
namespace {
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Sniffed sniffed(std::string_view start) {
  return sniff(std::as_bytes(std::span(start)));
}

TEST(Sniff, SaysOfGgufWhatItIsReadFor) {
  Sniffed found = sniffed(std::string_view("GGUF\3\0\0\0\0\0\0\0", 12));
  EXPECT_EQ(found.what, "a GGUF file");
  EXPECT_THAT(found.way_out, AllOf(HasSubstr("weights of models"), HasSubstr(".safetensors")));
}

// The usual .ckpt keeps its tensors one level down, with numbers and texts; so does an upscaler's
// .pth.
TEST(Sniff, TheWayOutOfPicklesTakesTensorsOutOfAStateDict) {
  EXPECT_THAT(
      sniffed("PK\3\4 archive").way_out,
      AllOf(HasSubstr("weights_only=True"), HasSubstr("('params_ema', 'params', 'state_dict')"),
            HasSubstr("torch.is_tensor(v)")));
}

}  // namespace
}  // namespace omnirt::io
