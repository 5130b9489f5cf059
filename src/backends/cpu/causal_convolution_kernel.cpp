#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "backends/cpu/kernels.hpp"
#include "backends/cpu/tensors.hpp"

// A convolution over frames as a sum of convolutions of images: one for each frame of the filter,
// by the kernels for these. Each frame of the result is summed in the same order whatever the
// frames around it, so that a video has the same bits in chunks of any length.
namespace omnirt::cpu {
namespace {

using Convolutions = std::vector<ops::Kernel<ops::Conv2d>>;

// Parts of a filter that are kept as convolutions of images read them. Larger ones cost far less to
// copy than to compute with.
constexpr size_t most_bytes_worth_keeping = size_t{1} << 20;

// One, {O, C, k, k}, in memory that counts as a packed form and not as a tensor of the run.
class FilterFrame {
 public:
  explicit FilterFrame(const Tensor& part) : bytes_(part.nbytes()) {
    weight_ = at::from_blob(bytes_.data(), part.sizes(), part.options());
    weight_.copy_(part);
  }
  FilterFrame(FilterFrame&&) = default;
  FilterFrame& operator=(FilterFrame&&) = delete;
  FilterFrame(const FilterFrame&) = delete;
  FilterFrame& operator=(const FilterFrame&) = delete;
  ~FilterFrame() = default;
  const Tensor& weight() const { return weight_; }

 private:
  std::vector<std::byte> bytes_;
  Tensor weight_;
};

// Consecutive frames that one frame of the filter is applied to.
struct FrameRun {
  bool of_past;
  int64_t from, to, count;  // rows of what is read, and of the result
};

size_t bytes_of_part(const ops::CausalConv3d& args) {
  return args.weight.nbytes() / static_cast<size_t>(args.weight.size(2));
}

Tensor copied_part(const ops::CausalConv3d& args, int64_t time) {
  return args.weight.select(2, time).contiguous();
}

// The filter's part for a frame: a view where it has only one.
Tensor part_of(const ops::CausalConv3d& args, int64_t time) {
  if (args.weight.size(2) == 1) return args.weight.squeeze(2);
  const size_t bytes = bytes_of_part(args);
  const bool keep =
      args.pack && !args.weight.is_meta() &&
      (args.pack->policy() == ops::PackPolicy::always || bytes <= most_bytes_worth_keeping);
  if (!keep) return copied_part(args, time);
  const auto* kept = args.pack->part(time).find_or_make<FilterFrame>(
      bytes, [&] { return FilterFrame(args.weight.select(2, time)); });
  return kept ? kept->weight() : copied_part(args, time);
}

// What frame `time` of the filter meets; zeros are left out.
std::vector<FrameRun> runs_of(const ops::CausalConv3d& args, int64_t time) {
  const int64_t past = args.past_frames(), made = args.frames_made();
  std::vector<FrameRun> runs;
  for (int64_t row = 0; row < args.videos() * made; ++row) {
    const int64_t video = row / made;
    const int64_t source = row % made * args.time_stride + time - args.zeros;
    if (source < 0) continue;
    const bool of_past = source < past;
    const int64_t from = of_past ? video * past + source : video * args.frames + source - past;
    FrameRun* last = runs.empty() ? nullptr : &runs.back();
    if (last && last->of_past == of_past && last->from + last->count == from &&
        last->to + last->count == row) {
      ++last->count;
    } else {
      runs.push_back({of_past, from, row, 1});
    }
  }
  return runs;
}

const ops::Kernel<ops::Conv2d>* kernel_for(const Convolutions& convolutions,
                                           const ops::Conv2d& args) {
  if (!ops::Conv2d::fits(args)) return nullptr;
  auto it =
      std::ranges::find_if(convolutions, [&](const auto& each) { return each.accepts(args); });
  return it == convolutions.end() ? nullptr : &*it;
}

bool accepts(const Convolutions& convolutions, const ops::CausalConv3d& args) {
  if (ops::encoded_weight(args.weight, args.pack) || !is_stored_weight(args.weight, nullptr) ||
      !is_fp32_or_absent(args.past)) {
    return false;
  }
  // Sizes and types alone decide, which all frames of the filter share.
  const Tensor weight = args.weight.select(2, 0).to(at::kMeta).contiguous();
  const ops::Conv2d of_one{
      .x = args.x, .weight = weight, .bias = args.bias, .padding = args.padding};
  return kernel_for(convolutions, of_one) != nullptr;
}

class Sum {
 public:
  Sum(const Convolutions& convolutions, const ops::CausalConv3d& args)
      : convolutions_(convolutions),
        args_(args),
        x_(in_channels_last(args.x)),
        y_(new_channels_last(ops::CausalConv3d::shape(args), args.x)) {
    if (args.past) past_ = in_channels_last(*args.past);
    if (args.residual) residual_ = in_channels_last(*args.residual);
  }

  // The last frame of the filter meets every frame of the result, and goes first.
  Tensor run() {
    for (int64_t time = args_.weight.size(2); time-- > 0;) {
      const Tensor weight = part_of(args_, time);
      for (const FrameRun& run : runs_of(args_, time)) add(time, weight, run);
    }
    return y_;
  }

 private:
  void add(int64_t time, const Tensor& weight, const FrameRun& run) {
    const bool first = time + 1 == args_.weight.size(2);
    Tensor x = (run.of_past ? past_ : x_).narrow(0, run.from, run.count);
    Tensor y = y_.narrow(0, run.to, run.count);
    Tensor before = first && residual_.defined() ? residual_.narrow(0, run.to, run.count) : y;
    const ops::Conv2d conv{.x = x,
                           .weight = weight,
                           .bias = first ? args_.bias : nullptr,
                           .padding = args_.padding,
                           .residual = first && !residual_.defined() ? nullptr : &before,
                           .into = &y,
                           .pack = args_.pack ? &args_.pack->part(time) : nullptr};
    const ops::Kernel<ops::Conv2d>* kernel = kernel_for(convolutions_, conv);
    ensure(kernel != nullptr, "no convolution takes frame {} of a filter", time);
    Tensor made = kernel->run(conv);
    if (made.const_data_ptr() != y.const_data_ptr()) y.copy_(made);
  }

  const Convolutions& convolutions_;
  const ops::CausalConv3d& args_;
  Tensor x_, past_, residual_, y_;
};

}  // namespace

void add_causal_convolution_kernel(ops::OpTable& table) {
  auto convolutions = std::make_shared<const Convolutions>(table.conv2d.kernels());
  table.causal_conv3d.add(
      {.name = "cpu causal convolution",
       .accepts = [=](const auto& args) { return accepts(*convolutions, args); },
       .run = [=](const auto& args) { return Sum(*convolutions, args).run(); },
       .temporary =
           [](const auto& args) {
             return args.weight.size(2) == 1 ? size_t{0} : bytes_of_part(args);
           }});
}

}  // namespace omnirt::cpu
