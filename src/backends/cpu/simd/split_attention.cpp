#include "backends/cpu/simd/split_attention.hpp"

#include <algorithm>
#include <numbers>

#include "backends/cpu/simd/integers.hpp"
#include "backends/cpu/simd/split_attention_kernels.hpp"
#include "backends/cpu/simd/split_kernels.hpp"
#include "backends/cpu/simd/thread_team.hpp"
#include "base/ensure.hpp"

namespace omnirt::cpu {
namespace {

size_t size(int64_t count) {
  return static_cast<size_t>(count);
}
constexpr int64_t block_keys = 512;  // whose scores are held at a time
constexpr size_t score_stride = block_keys + 16;
constexpr size_t weight_plane = size_t{split_rows} * split_step;
// Heads whose keys and values are packed at a time.
constexpr size_t shared_bytes = size_t{8} << 20;
// Groups of split_rows queries that share one pass over the keys stay in a second level cache.
constexpr size_t chunk_bytes = size_t{512} << 10;
constexpr int64_t most_groups = 8;

// The memory of one thread.
struct Work {
  float *scale, *shift, *scores, *state;
  uint16_t* weights;
};

// One group of queries under way.
struct Group {
  uint16_t* queries;  // planes [step][part][row][split_step]
  float *result, *highest, *total, *decay;
};

class SplitAttention {
 public:
  SplitAttention(const SplitKernels& products, const AttentionArgs& args)
      : products_(products),
        kernels_(split_attention_kernels(products.parts)),
        args_(args),
        steps_(ceil_div(args.head_dim, split_step)),
        key_steps_(ceil_div(args.k_tokens, split_step)),
        groups_(ceil_div(args.q_tokens, split_rows)),
        panel_step_(panel_step_values(products.parts)),
        panel_values_(size(steps_ * key_steps_) * panel_step_),
        chunk_(std::clamp<int64_t>(
            static_cast<int64_t>(chunk_bytes / (group_floats() * sizeof(float))), 1, most_groups)) {
  }

  void run() {
    TeamHold hold;
    const int64_t heads = args_.batch * args_.heads;
    const size_t head_bytes = 2 * panel_values_ * sizeof(uint16_t);
    const int64_t most = std::max<int64_t>(1, static_cast<int64_t>(shared_bytes / head_bytes));
    const int64_t at_once = std::min(heads, most);
    panels_ = reinterpret_cast<uint16_t*>(hold.scratch(size(at_once) * panel_values_));
    for (int64_t head = 0; head < heads; head += at_once)
      run_heads(head, std::min(at_once, heads - head));
  }

 private:
  const uint16_t* keys(int64_t place) const { return panels_ + size(2 * place) * panel_values_; }
  const uint16_t* values(int64_t place) const { return keys(place) + panel_values_; }

  void run_heads(int64_t head, int64_t count) {
    parallel_for(count * (key_steps_ + steps_), [&](int64_t item, int thread) {
      const int64_t place = item / (key_steps_ + steps_), part = item % (key_steps_ + steps_);
      pack(head + place, place, part, thread);
    });
    // Spans of a head's groups: enough for all threads, and whole chunks where there are many.
    const int64_t wanted = ceil_div(int64_t{4} * team_size(), count);
    const int64_t span = std::clamp<int64_t>(groups_ / wanted, 1, chunk_);
    const int64_t spans = ceil_div(groups_, span);
    parallel_for(count * spans, [&](int64_t item, int thread) {
      const int64_t place = item / spans, first = item % spans * span;
      attend(head + place, place, first, std::min(span, groups_ - first), thread);
    });
  }

  // A panel of 32 keys, or one of 32 columns of the values.
  void pack(int64_t head, int64_t place, int64_t part, int thread) const {
    const int64_t sample = head / args_.heads, own = head % args_.heads / args_.sharing;
    auto* panels = panels_ + size(2 * place) * panel_values_;
    if (part < key_steps_) {
      const float* rows = args_.k.data + sample * args_.k.batch_stride + own * args_.k.head_stride;
      const WeightView view{rows, WeightType::f32, args_.k_tokens, args_.head_dim,
                            args_.k.token_stride};
      const int64_t key = part * split_panel;
      products_.pack({view, key, std::min(split_panel, args_.k_tokens - key), 0, args_.head_dim, 1,
                      scratch(thread, split_pack_temporary(args_.head_dim, 1)),
                      panels + size(part * steps_) * panel_step_});
      return;
    }
    const int64_t panel = part - key_steps_;
    kernels_.pack_values({args_.v.data + sample * args_.v.batch_stride + own * args_.v.head_stride,
                          args_.v.token_stride, args_.k_tokens, args_.head_dim, panel * split_panel,
                          panels + panel_values_ + size(panel * key_steps_) * panel_step_});
  }

  size_t result_stride() const { return size(steps_ * split_panel) + 16; }
  size_t query_values() const { return products_.parts * size(steps_) * weight_plane; }
  size_t group_floats() const {
    return query_values() / 2 + size(split_rows) * (result_stride() + 3);
  }

  Work work(int thread) const {
    const size_t dims = size(steps_ * split_step), weights = size(block_keys) * split_rows;
    float* memory = scratch(thread, 2 * dims + size(split_rows) * score_stride + weights +
                                        size(chunk_) * group_floats());
    Work w{memory, memory + dims, memory + 2 * dims, nullptr, nullptr};
    float* after = w.scores + size(split_rows) * score_stride;
    w.weights = reinterpret_cast<uint16_t*>(after);
    w.state = after + weights;
    std::fill_n(w.scale, dims, static_cast<float>(args_.scale * std::numbers::log2e));
    std::fill_n(w.shift, dims, 0.0f);
    return w;
  }

  Group group(const Work& w, int64_t index) const {
    float* at = w.state + size(index) * group_floats();
    float* result = at + query_values() / 2;
    float* rows = result + size(split_rows) * result_stride();
    return {reinterpret_cast<uint16_t*>(at), result, rows, rows + split_rows,
            rows + 2 * split_rows};
  }

  int64_t query_of(int64_t index) const { return index * split_rows; }
  size_t rows_of(int64_t index) const {
    return size(std::min(split_rows, args_.q_tokens - query_of(index)));
  }

  void attend(int64_t head, int64_t place, int64_t first, int64_t count, int thread) const {
    const Work w = work(thread);
    for (int64_t i = 0; i < count; ++i) begin(group(w, i), head, first + i, w);
    products_.begin();
    for (int64_t key = 0; key < args_.k_tokens; key += block_keys)
      for (int64_t i = 0; i < count; ++i) take(group(w, i), place, first + i, key, w);
    products_.end();
    for (int64_t i = 0; i < count; ++i) end(group(w, i), head, first + i);
  }

  void begin(const Group& g, int64_t head, int64_t index, const Work& w) const {
    const float* queries = args_.q.data + head / args_.heads * args_.q.batch_stride +
                           head % args_.heads * args_.q.head_stride;
    for (size_t r = 0; r < rows_of(index); ++r) {
      const int64_t row = query_of(index) + static_cast<int64_t>(r);
      products_.split({queries + row * args_.q.token_stride, size(args_.head_dim), w.scale, w.shift,
                       false, g.queries + r * split_step, weight_plane});
    }
  }

  void take(const Group& g, int64_t place, int64_t index, int64_t key, const Work& w) const {
    static constexpr int64_t tap = 0;
    const int64_t count = std::min(block_keys, args_.k_tokens - key);
    const int64_t step = key / split_step, steps = ceil_div(count, split_step);
    const size_t rows = rows_of(index);
    for (int64_t i = 0; i < steps; ++i) {
      products_.product({rows, g.queries, weight_plane, &tap, 1, size(steps_),
                         keys(place) + size((step + i) * steps_) * panel_step_,
                         w.scores + i * split_panel, score_stride, false});
    }
    kernels_.weigh({w.scores, score_stride, rows, size(count), key == 0, g.highest, g.total,
                    g.decay, w.weights, weight_plane});
    if (key > 0)
      kernels_.scale_rows(g.result, result_stride(), rows, size(steps_ * split_panel), g.decay);
    for (int64_t i = 0; i < steps_; ++i) {
      products_.product({rows, w.weights, weight_plane, &tap, 1, size(steps),
                         values(place) + size(i * key_steps_ + step) * panel_step_,
                         g.result + i * split_panel, result_stride(), key > 0});
    }
  }

  void end(const Group& g, int64_t head, int64_t index) const {
    float* y = args_.y.data + head / args_.heads * args_.y.batch_stride +
               head % args_.heads * args_.y.head_stride;
    const size_t rows = rows_of(index);
    for (size_t r = 0; r < rows; ++r) g.decay[r] = 1.0f / g.total[r];
    kernels_.scale_rows(g.result, result_stride(), rows, size(steps_ * split_panel), g.decay);
    for (size_t r = 0; r < rows; ++r) {
      const int64_t row = query_of(index) + static_cast<int64_t>(r);
      std::copy_n(g.result + r * result_stride(), args_.head_dim, y + row * args_.y.token_stride);
    }
  }

  const SplitKernels& products_;
  const SplitAttentionKernels kernels_;
  const AttentionArgs& args_;
  const int64_t steps_, key_steps_, groups_;
  const size_t panel_step_;    // values of one step of a panel
  const size_t panel_values_;  // of the keys of a head, or of its values
  const int64_t chunk_;
  uint16_t* panels_ = nullptr;
};

}  // namespace

void attention_split(const SplitKernels& kernels, const AttentionArgs& args) {
  ensure(!args.causal && !args.key_counts && !args.bias.data,
         "attention by split products has no masks");
  if (args.batch * args.heads * args.q_tokens > 0) SplitAttention(kernels, args).run();
}

void attention_split(const AttentionArgs& args) {
  attention_split(split_kernels(true), args);
}

void attention_rounded(const AttentionArgs& args) {
  attention_split(rounded_kernels(true), args);
}

}  // namespace omnirt::cpu
