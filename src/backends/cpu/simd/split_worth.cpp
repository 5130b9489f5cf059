#include "backends/cpu/simd/split_product.hpp"

namespace omnirt::cpu {
namespace {

constexpr int64_t least_work = 3'000'000;
constexpr int64_t least_rows = 12, least_width = 24;
constexpr int64_t least_tokens = 128, least_keys = 128;

}  // namespace

bool worth_splitting(int64_t rows, int64_t out, int64_t in) {
  return rows >= least_rows && rows * out * in >= least_work && out >= least_width &&
         in >= least_width;
}

// Few pixels leave the weights' reading as the cost, few channels the image's.
bool worth_splitting_conv(const WinogradShape& shape, int64_t kernel_height, int64_t kernel_width,
                          int64_t stride) {
  const int64_t around = kernel_height / 2;
  return (kernel_height == 1 || kernel_height == 3) && kernel_width == kernel_height &&
         stride == 1 && shape.left == around && shape.right == around && shape.top == around &&
         shape.bottom == around && shape.out_channels >= least_width &&
         shape.in_channels >= least_width && shape.conv_height() * shape.conv_width() >= least_rows;
}

bool worth_splitting_attention(int64_t tokens, int64_t keys) {
  return tokens >= least_tokens && keys >= least_keys;
}

}  // namespace omnirt::cpu
