#include "engine/preview.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "io/image_resize.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/run_keys.hpp"
#include "request/validate.hpp"
#include "tensor/image_tensor.hpp"

namespace omnirt {
namespace fs = std::filesystem;
namespace {

void replace_all(std::string& text, const std::string& what, const std::string& with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

// {n, C, h, w}.
Tensor one_frame(const Tensor& sample) {
  return sample.dim() == 5 ? sample.select(1, sample.size(1) / 2) : sample;
}

}  // namespace

Tensor linear_preview(const PreviewMeans& means, const Tensor& latents) {
  std::vector<float> factors;
  for (const auto& colour : means.colours)
    for (double share : colour) factors.push_back(static_cast<float>(share));
  Tensor table = at::tensor(factors).view({static_cast<int64_t>(means.colours.size()), 3});
  Tensor bias = at::tensor(std::vector<float>(means.bias.begin(), means.bias.end()));
  return at::einsum("bchw,cr->brhw", {latents.to(at::kFloat), table}) + bias.view({1, 3, 1, 1});
}

Previews::Previews(const Proposal& proposal, const LoadedPipeline& pipeline, LevelRuns& levels,
                   const RunHooks& hooks, RunReport& report)
    : proposal_(proposal),
      pipeline_(pipeline),
      levels_(levels),
      hooks_(hooks),
      report_(report),
      every_(static_cast<size_t>(proposal.config.get(keys::preview_every))),
      before_(report.denoise_steps_ms.size()) {}

void Previews::step(const LoopProgress& progress, const Tensor& sample) {
  if (every_ == 0 || progress.step % every_ != 0) return;
  Tensor latents = one_frame(sample);
  for (int64_t i = 0; i < latents.size(0); ++i) {
    PreviewImage preview{static_cast<size_t>(i), draw(latents.narrow(0, i, 1)),
                         file_of(static_cast<size_t>(i), before_ + progress.step)};
    fs::create_directories(fs::path(preview.file).parent_path());
    io::write_image(preview.file, preview.image);
    if (std::ranges::find(report_.previews, preview.file) == report_.previews.end())
      report_.previews.push_back(preview.file);
    tell([&] {
      if (hooks_.on_preview) hooks_.on_preview(progress, preview);
    });
  }
}

io::Image Previews::draw(const Tensor& latents) const {
  if (pipeline_.find(preview_component)) return tensor_to_image(decoded(latents), 0);
  const PreviewMeans& means = *proposal_.family->preview_means(proposal_.spec->id);
  io::Image small = tensor_to_image(linear_preview(means, latents), 0);
  int64_t grid = proposal_.autoencoder()->factors().side;
  return io::resize_lanczos(small, small.width * grid, small.height * grid);
}

Tensor Previews::decoded(const Tensor& latents) const {
  const auto& tiny = pipeline_.get<nn::Autoencoder>(preview_component);
  Tensor given = latents / tiny.scaling_factor() + tiny.shift_factor();
  ComponentCall call{"decode", [&](Context& cx, const Values& in) {
                       return result(tiny.decode(cx, one(in, "latents").to(cx.dtype())));
                     }};
  Values inputs{{"latents", {given}}};
  return host(levels_.call(preview_component, call, inputs, hooks_.cancel)).to(at::kFloat);
}

std::string Previews::file_of(size_t place, size_t step) const {
  std::string name = proposal_.config.get(keys::preview_name);
  auto seed = static_cast<uint64_t>(proposal_.config.get(keys::seed)) + place;
  for (const auto& [what, with] : {std::pair<const char*, std::string>{"{run}", report_.run_id},
                                   {"{index}", std::to_string(place)},
                                   {"{step}", fmt::format("{:03}", step)},
                                   {"{seed}", std::to_string(seed)}})
    replace_all(name, what, with);
  return fs::absolute(fs::path(proposal_.config.get(keys::preview_dir)) / name)
      .lexically_normal()
      .native();
}

}  // namespace omnirt
