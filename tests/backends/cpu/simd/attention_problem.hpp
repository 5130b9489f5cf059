#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "backends/cpu/simd/attention.hpp"

// What the tests of attention share.
namespace omnirt::cpu {

inline constexpr float inf = std::numeric_limits<float>::infinity();
inline constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// One tensor {batch, tokens, heads * d} with room between tokens and samples, at an address that is
// not a multiple of 16.
struct Tokens {
  int64_t batch, tokens, heads, dim, token_stride, batch_stride;
  std::vector<float> memory;

  Tokens(int64_t b, int64_t t, int64_t h, int64_t d, unsigned seed)
      : batch(b), tokens(t), heads(h), dim(d), token_stride(h * d + 3) {
    batch_stride = t * token_stride + 5;
    memory.resize(static_cast<size_t>(b * batch_stride + 1));
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal;
    for (float& value : memory) value = normal(engine);
  }
  float* data() { return memory.data() + 1; }
  float& at(int64_t b, int64_t t, int64_t h, int64_t i) {
    return data()[b * batch_stride + t * token_stride + h * dim + i];
  }
  TokenView<float> view() { return {data(), batch_stride, token_stride, dim}; }
  TokenView<const float> const_view() { return {data(), batch_stride, token_stride, dim}; }
};

struct AttentionCase {
  int64_t batch, heads, dim, q_tokens, k_tokens;
  bool causal = false;
  int64_t sharing = 1;
};

struct AttentionProblem {
  Tokens q, k, v, y;
  AttentionArgs args{};

  explicit AttentionProblem(const AttentionCase& c)
      : q(c.batch, c.q_tokens, c.heads, c.dim, 1),
        k(c.batch, c.k_tokens, c.heads / c.sharing, c.dim, 2),
        v(c.batch, c.k_tokens, c.heads / c.sharing, c.dim, 3),
        y(c.batch, c.q_tokens, c.heads, c.dim, 4) {
    args.batch = c.batch;
    args.heads = c.heads;
    args.head_dim = c.dim;
    args.q_tokens = c.q_tokens;
    args.k_tokens = c.k_tokens;
    args.scale = 1.0f / std::sqrt(static_cast<float>(c.dim));
    args.causal = c.causal;
    args.sharing = c.sharing;
  }

  // Runs `way`, a function of AttentionArgs.
  template <class Way>
  void run(const Way& way) {
    args.q = q.const_view();
    args.k = k.const_view();
    args.v = v.const_view();
    args.y = y.view();
    way(args);
  }
  void run() { run(attention); }

  double bias_at(int64_t b, int64_t h, int64_t row, int64_t key) const {
    const ScoreBias& bias = args.bias;
    return bias.data ? bias.data[b * bias.batch_stride + h * bias.head_stride +
                                 row * bias.query_stride + key * bias.key_stride]
                     : 0.0;
  }

  // softmax(q k^T * scale + bias) v in double, keys outside the mask left out.
  std::vector<double> expected(int64_t b, int64_t h, int64_t row) {
    int64_t keys = args.key_counts ? args.key_counts[b] : args.k_tokens;
    if (args.causal) keys = std::min(keys, row + 1);
    std::vector<double> score(static_cast<size_t>(keys)), result(static_cast<size_t>(q.dim));
    double top = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t key = 0; key < keys; ++key) {
      double dot = 0;
      for (int64_t i = 0; i < q.dim; ++i)
        dot += double(q.at(b, row, h, i)) * k.at(b, key, h / args.sharing, i);
      const double biased = dot * args.scale + bias_at(b, h, row, key);
      score[static_cast<size_t>(key)] = biased;
      top = std::max(top, biased);
    }
    for (double& s : score) sum += s = std::exp(s - top);
    for (int64_t key = 0; key < keys; ++key) {
      const double weight = score[static_cast<size_t>(key)] / sum;
      for (int64_t i = 0; i < q.dim; ++i)
        result[static_cast<size_t>(i)] += weight * v.at(b, key, h / args.sharing, i);
    }
    return result;
  }

  double worst_error() {
    double worst = 0;
    for (int64_t b = 0; b < y.batch; ++b) {
      for (int64_t h = 0; h < y.heads; ++h) {
        for (int64_t row = 0; row < y.tokens; ++row) {
          const std::vector<double> want = expected(b, h, row);
          for (int64_t i = 0; i < y.dim; ++i) {
            const double error = std::abs(y.at(b, row, h, i) - want[static_cast<size_t>(i)]);
            worst = std::isnan(error) ? inf : std::max(worst, error);
          }
        }
      }
    }
    return worst;
  }
};

}  // namespace omnirt::cpu
