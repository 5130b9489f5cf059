#pragma once
#include "backends/cpu/simd/target.hpp"
#include "ops/op_table.hpp"

namespace omnirt::cpu {

// The processor's kernels for fp32 tensors over weights as the file stores them (fp32, fp16, bf16),
// channels-last. One function an area; each adds to the ops that it serves. What they do not take,
// the references compute.
void add_dense_kernels(ops::OpTable& table);
void add_convolution_kernels(ops::OpTable& table);
// By the kernels that the table has for convolutions of images: to be added after these.
void add_causal_convolution_kernel(ops::OpTable& table);
void add_attention_kernels(ops::OpTable& table);
void add_norm_kernels(ops::OpTable& table);
void add_elementwise_kernels(ops::OpTable& table);

// Linear layers, convolutions and attention by products of split numbers (simd/split_product.hpp),
// for machines that have the unit (split_available): to be added before all others.
void add_split_dense_kernels(ops::OpTable& table);
void add_split_convolution_kernels(ops::OpTable& table);
void add_split_attention_kernels(ops::OpTable& table);
// The same by products of numbers rounded to bf16, for machines that have a unit for these
// (rounded_available): to be added before all others.
void add_rounded_dense_kernels(ops::OpTable& table);
void add_rounded_convolution_kernels(ops::OpTable& table);
void add_rounded_attention_kernels(ops::OpTable& table);

inline void add_split_kernels(ops::OpTable& table) {
  add_split_dense_kernels(table);
  add_split_convolution_kernels(table);
  add_split_attention_kernels(table);
}

inline void add_kernels(ops::OpTable& table) {
  targets();
  add_dense_kernels(table);
  add_convolution_kernels(table);
  add_causal_convolution_kernel(table);
  add_attention_kernels(table);
  add_norm_kernels(table);
  add_elementwise_kernels(table);
}

}  // namespace omnirt::cpu
