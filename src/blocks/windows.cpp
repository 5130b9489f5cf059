#include "blocks/windows.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include "pipeline/checks.hpp"

namespace omnirt::blocks {
namespace {

constexpr int64_t default_strides = 8;  // a window, where the request does not say
constexpr int64_t margin = 8;           // latents beyond each edge that a circular decode sees
constexpr size_t most_windows = 4096;

// Where windows begin along a side: every `stride`, and where the last one ends with the side.
std::vector<int64_t> starts(int64_t side, int64_t size, int64_t stride) {
  std::vector<int64_t> all{0};
  while (all.back() + size < side) all.push_back(std::min(all.back() + stride, side - size));
  return all;
}

std::vector<int64_t> circular_starts(int64_t side, int64_t size, int64_t stride) {
  if (side <= size) return {0};
  std::vector<int64_t> all;
  for (int64_t at = 0; at < side; at += stride) all.push_back(at);
  return all;
}

int64_t stride_of(std::optional<int64_t> given, int64_t window_size) {
  return given.value_or(window_size / default_strides);
}

// Adds `part` to `sum` where the window is.
void add_at(const Tensor& sum, const Window& window, const Tensor& part) {
  int64_t width = nn::LatentGrid::of(sum).width,
          inside = std::min(window.right, width) - window.left;
  Tensor rows = sum.narrow(2, window.top, window.bottom - window.top);
  rows.narrow(3, window.left, inside).add_(part.narrow(3, 0, inside));
  if (window.right > width)
    rows.narrow(3, 0, window.right - width).add_(part.narrow(3, inside, window.right - width));
}

[[noreturn]] void refuse_inner(const std::string& block, const std::string& reason) {
  throw InvalidRequest({"block", block, "denoise_windows runs it in each window, and " + reason,
                        "remove(list, \"denoise_windows\") first"});
}

// Each window has a walk of its own: the loop may make nothing else.
void check_state(const LoopBlock& loop) {
  for (const PortInfo& port : loop.ports()) {
    bool out = port.kind == PortInfo::Kind::output, both = port.kind == PortInfo::Kind::inout;
    if (out || (both && port.name != "latents" && port.name != "noise_source"))
      refuse_inner(loop.name(), "cannot keep its value '" + port.name + "' apart for each");
  }
}

// The state of the loop over windows: a walk per window.
struct WindowWalks final : LoopState {
  std::vector<Window> windows;
  std::vector<Walk> walks;
  std::vector<size_t> rows;                // that each window asked for
  Tensor whole;                            // {B, C, H, W}
  std::vector<DenoisedWindow> denoised{};  // by the last step
  LocalValues::Made made{};                // what the blocks after the walks make

  LoopProgress next() const override { return walks.front().next(); }
  LoopProgress progress() const override { return walks.front().progress(); }
  const Tensor& sample() const override { return whole; }
  size_t images() const override { return windows.size() * LoopState::images(); }
};

WindowWalks& walks_of(LoopState& state) {
  return dynamic_cast<WindowWalks&>(state);
}

}  // namespace

std::vector<Window> windows_over(int64_t height, int64_t width, int64_t size, int64_t stride,
                                 bool circular) {
  std::vector<Window> all;
  auto columns = circular ? circular_starts(width, size, stride) : starts(width, size, stride);
  for (int64_t top : starts(height, size, stride)) {
    for (int64_t left : columns)
      all.push_back({top, std::min(top + size, height), left, std::min(left + size, left + width)});
  }
  return all;
}

Tensor window_of(const Tensor& x, const Window& window) {
  int64_t width = nn::LatentGrid::of(x).width;
  Tensor rows = x.narrow(2, window.top, window.bottom - window.top);
  if (window.right <= width) return rows.narrow(3, window.left, window.right - window.left);
  return at::cat(
      {rows.narrow(3, window.left, width - window.left), rows.narrow(3, 0, window.right - width)},
      3);
}

void JoinWindows::run(Frame& frame, const StepAt& /*at*/) const {
  Tensor& whole = frame[latents];
  Tensor sum = at::zeros_like(whole), count = at::zeros_like(whole);
  for (const auto& [window, part] : frame[windows]) {
    add_at(sum, window, part);
    add_at(count, window, part.new_ones(part.sizes()));
  }
  whole = sum / count;
}

DenoiseWindows::DenoiseWindows(const BlockList& inner, Trigger trigger)
    : LoopBlock("denoise_windows", Stage::denoise_loop, Guidance::takes_over, std::move(trigger)),
      all_(inner) {
  if (all_.empty() || !as_walk_loop(*all_.front())) {
    refuse_inner(all_.empty() ? "" : all_.front()->name(),
                 "needs a loop whose state is one walk (WalkLoop)");
  }
  inner_ = as_walk_loop(*all_.front());
  check_state(*inner_);
  adopt_ports(*inner_);
  join_.assign(all_.begin() + 1, all_.end());
  for (const auto& part : join_) {
    if (!as_denoise_part(*part))
      refuse_inner(part->name(), "runs a DenoisePart after the windows' steps");
  }
  adopt_list(join_, Made::is_local, {denoised_windows.name});
}

std::shared_ptr<const Block> DenoiseWindows::with_inner(const BlockList& inner) const {
  return std::make_shared<DenoiseWindows>(inner, trigger());
}

std::unique_ptr<LoopState> DenoiseWindows::start(Frame& frame) const {
  auto state = std::make_unique<WindowWalks>();
  state->whole = frame[latents];
  int64_t grid = frame[vae].factors().side;
  int64_t size = frame[window_size] / grid;
  int64_t stride = stride_of(frame.maybe(window_stride), frame[window_size]) / grid;
  const auto whole = nn::LatentGrid::of(state->whole);
  state->windows = windows_over(whole.height, whole.width, size, std::max<int64_t>(stride, 1),
                                frame[circular_padding]);
  const Walk walk = frame.within(*inner_, [&] { return inner_->begin(frame); });
  for (size_t i = 0; i < state->windows.size(); ++i) {
    auto own = planned(frame[scheduler], frame[num_inference_steps], frame[eta]);
    own->set_begin(walk.schedule.begin);
    state->walks.push_back(walk);
    state->walks.back().schedule.scheduler = std::move(own);
  }
  return state;
}

bool DenoiseWindows::want(Frame& frame, LoopState& state, std::vector<Row>& rows) const {
  WindowWalks& at = walks_of(state);
  at.rows.clear();
  for (size_t i = 0; i < at.walks.size(); ++i) {
    std::vector<Row> of_window;
    at.walks[i].latents = window_of(at.whole, at.windows[i]);
    if (!frame.within(*inner_, [&] { return inner_->want(frame, at.walks[i], of_window); })) break;
    at.rows.push_back(of_window.size());
    for (Row& row : of_window) {
      // Features that steps share belong to a window's image.
      row.id.image += static_cast<uint32_t>(i * static_cast<size_t>(at.whole.size(0)));
      rows.push_back(std::move(row));
    }
  }
  return !at.rows.empty();
}

void DenoiseWindows::accept(Frame& frame, LoopState& state,
                            const std::vector<Tensor>& predictions) const {
  WindowWalks& at = walks_of(state);
  const LoopProgress step = at.next();
  at.denoised.clear();
  auto first = predictions.begin();
  for (size_t i = 0; i < at.walks.size(); ++i) {
    auto last = first + static_cast<int64_t>(at.rows[i]);
    frame.within(*inner_, [&] { inner_->accept(frame, at.walks[i], {first, last}); });
    first = last;
    at.denoised.push_back({at.windows[i], at.walks[i].latents});
  }
  LocalValues values(at.made);
  values.bind(slots::latents.name, at.whole);
  values.bind(denoised_windows.name, at.denoised);
  for (const auto& part : join_)
    run_part(frame, *part, StepAt{step.step, step.timestep, step.steps}, values);
}

void DenoiseWindows::finish(Frame& frame, LoopState& state) const {
  frame[latents] = walks_of(state).whole;
}

Denoiser DenoiseWindows::denoiser(Frame& frame) const {
  return frame.within(*inner_, [&] { return inner_->denoiser(frame); });
}

void DenoiseWindows::check(Checks& checks) const {
  check_parts(all_, checks);
  check_windows(checks);
}

void DenoiseWindows::check_windows(Checks& checks) const {
  int64_t size = checks[window_size], stride = stride_of(checks.maybe(window_stride), size);
  int64_t grid = checks[vae].factors().side;
  for (auto [port, value] : {std::pair{&window_size, size}, {&window_stride, stride}}) {
    if (value % grid == 0) continue;
    checks.error({"config." + port->name(), std::to_string(value),
                  "windows lie on the grid of the latents",
                  fmt::format("give a multiple of {}", grid)});
  }
  if (stride > size) {
    checks.error({"config.window_stride", std::to_string(stride),
                  fmt::format("leaves gaps between windows of {}", size),
                  fmt::format("give at most {}", size)});
    return;
  }
  size_t count =
      windows_over(checks.maybe(height).value_or(size), checks.maybe(width).value_or(size), size,
                   stride, checks[circular_padding])
          .size();
  if (count > most_windows) {
    checks.error({"config.window_stride", std::to_string(stride),
                  fmt::format("makes {} windows, more than {}", count, most_windows),
                  "give a larger stride"});
  }
  for (const StepBlock* block : checks.step_blocks()) {
    checks.error(
        {"config.window_size", std::to_string(size),
         fmt::format("block {} acts on the whole image, and not in windows", block->name()),
         "remove its inputs, or window_size"});
  }
}

void DenoiseWindows::check_loaded(Checks& checks) const {
  check_loaded_parts(all_, checks);
}

void add_denoise_loops(BlockList& list, const DenoiseOptions& options, const Trigger& windows) {
  auto denoise = std::make_shared<DenoiseLoop>(options);
  list.push_back(denoise);
  list.push_back(std::make_shared<DenoiseWindows>(
      BlockList{denoise, std::make_shared<JoinWindows>()}, windows));
}

Tensor DecodeCircular::decoded(Frame& frame, const Tensor& latents_of_one) const {
  int64_t width = nn::LatentGrid::of(latents_of_one).width, beyond = std::min(margin, width);
  Tensor padded = at::cat({latents_of_one.narrow(3, width - beyond, beyond), latents_of_one,
                           latents_of_one.narrow(3, 0, beyond)},
                          3);
  Tensor image = decoded_image(frame, vae, tiling, padded);
  int64_t cut = beyond * frame[vae].factors().side;
  return image.narrow(3, cut, nn::LatentGrid::of(image).width - 2 * cut).contiguous();
}

}  // namespace omnirt::blocks
