#pragma once
#include <cstdint>

namespace omnirt::cpu {

// Floats {batch, tokens, heads, head_dim} with head_dim contiguous; strides count floats, so q, k
// and v may be slices of one tensor. For {B, T, heads * d} rows the head stride is d.
template <class Float>
struct TokenView {
  Float* data;
  int64_t batch_stride;
  int64_t token_stride;
  int64_t head_stride;
};

// What is added to the scores: floats {batch, heads, q_tokens, k_tokens}; a stride of 0 repeats one
// value along its dimension. No data: nothing is added.
struct ScoreBias {
  const float* data = nullptr;
  int64_t batch_stride = 0;
  int64_t head_stride = 0;
  int64_t query_stride = 0;
  int64_t key_stride = 0;
};

struct AttentionArgs {
  TokenView<const float> q;  // {batch, q_tokens, heads, head_dim}
  TokenView<const float> k;  // {batch, k_tokens, heads / sharing, head_dim}
  TokenView<const float> v;  // as k
  TokenView<float> y;        // as q; must not overlap the inputs
  int64_t batch;
  int64_t heads;
  int64_t head_dim;
  int64_t q_tokens;
  int64_t k_tokens;
  float scale;
  // Query i sees keys 0..i only (both counted from the start, as in torch's is_causal).
  bool causal = false;
  // Null, or {batch}: how many of the k_tokens each sample has (1 <= count <= k_tokens); the rest
  // is not read.
  const int64_t* key_counts = nullptr;
  ScoreBias bias = {};
  // This many consecutive heads of queries share a head of keys and values; a divisor of heads.
  int64_t sharing = 1;
};

// y = softmax(q k^T * scale + bias) v in fp32, without the matrix of scores: a running maximum and
// sum over blocks of keys (Rabe & Staats 2021, arXiv 2112.05682; Dao et al. 2022, arXiv
// 2205.14135). A NaN or a +inf score makes its query's row NaN, a score of -inf weighs nothing, a
// NaN in v reaches every query that may see it: as softmax of the whole row does. A query whose
// keys all score -inf yields NaN, or 0 where there is a bias: it is one that a mask keeps from
// every key, and torch's attention does the same. No bit depends on the number of threads, on batch
// or on heads. At most team_size() threads. Scratch, kept by the team, per thread: about 0.5 MB,
// and a copy of one head's keys and values (8 * k_tokens * head_dim bytes, 16 MB at most; larger
// ones are not copied).
void attention(const AttentionArgs& args);

// The same with queries, keys, values and weights rounded to bf16 and sums in fp32, for machines
// with AVX512-BF16 (bf16_available); elsewhere as above. Right to about 1e-2 of the values' size.
// Scratch that all threads share: up to 16 MB of keys and values, or one head's where it has more.
void attention_bf16(const AttentionArgs& args);

}  // namespace omnirt::cpu
