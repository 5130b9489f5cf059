#include <torch/csrc/stable/library.h>

#include "ops.hpp"

// What torch sees. Padding is {left, right, top, bottom}.

STABLE_TORCH_LIBRARY(omnirt_ops, library) {
  library.def("cpu_target() -> str");
  library.def(
      "conv2d(Tensor x, Tensor weight, Tensor? bias=None, int stride=1, "
      "int[] padding=[0, 0, 0, 0], int[] upsample_to=[], int norm_groups=0, "
      "Tensor? norm_weight=None, Tensor? norm_bias=None, float norm_eps=1e-05, "
      "int norm_activation=0, Tensor? sample_bias=None, Tensor? residual=None, int activation=0, "
      "int precision=0) -> Tensor");
  library.def(
      "group_norm(Tensor x, int groups, Tensor? weight=None, Tensor? bias=None, "
      "float eps=1e-05, int activation=0) -> Tensor");
  library.def(
      "attention(Tensor query, Tensor key, Tensor value, Tensor? mask, float scale, "
      "bool causal=False, int precision=0) -> Tensor");
  library.def(
      "linear(Tensor x, Tensor weight, Tensor? bias=None, Tensor? residual=None, "
      "int activation=0, bool gated=False, int precision=0) -> Tensor");
  library.def(
      "gguf_linear(Tensor x, Tensor blocks, int type, Tensor? bias=None, int activation=0) -> "
      "Tensor");
  library.def(
      "fp8_linear(Tensor x, Tensor weight, Tensor scale, Tensor? bias=None, int activation=0) -> "
      "Tensor");
  library.def("int8_pack(Tensor weight) -> (Tensor, Tensor, Tensor)");
  library.def(
      "int8_linear(Tensor x, Tensor values, Tensor scales, Tensor sums, int out_features, "
      "Tensor? bias=None, int activation=0) -> Tensor");
  library.def(
      "int8_conv2d(Tensor x, Tensor values, Tensor scales, Tensor sums, int out_channels, "
      "int[] kernel, Tensor? bias=None, int stride=1, int[] padding=[0, 0, 0, 0], "
      "int activation=0) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(omnirt_ops, CompositeExplicitAutograd, library) {
  library.impl("cpu_target", TORCH_BOX(&omnirt::torch_ops::cpu_target));
}

STABLE_TORCH_LIBRARY_IMPL(omnirt_ops, CPU, library) {
  using namespace omnirt::torch_ops;
  library.impl("conv2d", TORCH_BOX(&conv2d));
  library.impl("group_norm", TORCH_BOX(&group_norm));
  library.impl("attention", TORCH_BOX(&attention));
  library.impl("linear", TORCH_BOX(&linear));
  library.impl("gguf_linear", TORCH_BOX(&gguf_linear));
  library.impl("fp8_linear", TORCH_BOX(&fp8_linear));
  library.impl("int8_pack", TORCH_BOX(&int8_pack));
  library.impl("int8_linear", TORCH_BOX(&int8_linear));
  library.impl("int8_conv2d", TORCH_BOX(&int8_conv2d));
}
