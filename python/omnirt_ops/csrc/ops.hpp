#pragma once
#include "arguments.hpp"

// The ops as torch calls them; what they compute is said in Python (omnirt_ops/ops.py), in the
// words of which errors speak. Activations and precisions come as numbers: strings leak memory in
// the stable ABI of torch 2.13.
namespace omnirt::torch_ops {

// What the kernels run by; throws where OMNIRT_CPU_TARGET is none of this machine's. Called by the
// Python package before any kernel.
std::string cpu_target();

Tensor conv2d(const Tensor& x, const Tensor& weight, const MaybeTensor& bias, int64_t stride,
              Sizes padding, Sizes upsample_to, int64_t norm_groups, const MaybeTensor& norm_weight,
              const MaybeTensor& norm_bias, double norm_eps, int64_t norm_activation,
              const MaybeTensor& sample_bias, const MaybeTensor& residual, int64_t activation,
              int64_t precision);

Tensor group_norm(const Tensor& x, int64_t groups, const MaybeTensor& weight,
                  const MaybeTensor& bias, double eps, int64_t activation);

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value,
                 const MaybeTensor& mask, double scale, bool causal, int64_t precision);

Tensor linear(const Tensor& x, const Tensor& weight, const MaybeTensor& bias,
              const MaybeTensor& residual, int64_t activation, bool gated, int64_t precision);
Tensor gguf_linear(const Tensor& x, const Tensor& blocks, int64_t type, const MaybeTensor& bias,
                   int64_t activation);
Tensor fp8_linear(const Tensor& x, const Tensor& weight, const Tensor& scale,
                  const MaybeTensor& bias, int64_t activation);

std::tuple<Tensor, Tensor, Tensor> int8_pack(const Tensor& weight);
Tensor int8_linear(const Tensor& x, const Tensor& values, const Tensor& scales, const Tensor& sums,
                   int64_t out_features, const MaybeTensor& bias, int64_t activation);
Tensor int8_conv2d(const Tensor& x, const Tensor& values, const Tensor& scales, const Tensor& sums,
                   int64_t out_channels, Sizes kernel, const MaybeTensor& bias, int64_t stride,
                   Sizes padding, int64_t activation);

}  // namespace omnirt::torch_ops
