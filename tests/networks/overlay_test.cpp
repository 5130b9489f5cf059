// Overlays of a network's weights: changed weights, and terms next to them.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>

#include "networks/support.hpp"
#include "networks/unet_2d_condition_model/model.hpp"

namespace omnirt::testing {
namespace {

constexpr double tolerance = 1e-5;

struct Unet {
  LoadedNetwork loaded = load_case("unet_sd1");
  UNetInput input;

  Unet() {
    Tensors in = golden("unet_sd1", "golden");
    input.sample = in.at("in.sample");
    input.timestep = in.at("in.timestep");
    input.encoder_hidden_states = in.at("in.encoder_hidden_states");
  }
  Tensor run(const std::shared_ptr<const Overlay>& overlay = nullptr) const {
    auto binding =
        overlay ? std::make_shared<const Binding>(loaded.binding, overlay) : loaded.binding;
    Context cx(loaded.ops, binding, {});
    return loaded.as<UNet2DConditionModel>().forward(cx, input);
  }
  // Low-rank terms for every linear layer and convolution.
  std::map<size_t, std::vector<SideTerm>> terms() const {
    std::map<size_t, std::vector<SideTerm>> made;
    auto generator = at::detail::createCPUGenerator(1);
    for (const Param* param : loaded.network->params()) {
      if (param->shape.size() < 2) continue;
      std::vector<int64_t> down = param->shape, up(down.size(), 1);
      down[0] = up[1] = 2;
      up[0] = param->shape[0];
      double scale = 0.2 / std::sqrt(static_cast<double>(param->shape[1]));
      made[param->index].push_back({at::randn(down, generator, at::kFloat) * scale,
                                    at::randn(up, generator, at::kFloat), 0.5});
    }
    return made;
  }
};

Overlay merged(const std::map<size_t, std::vector<SideTerm>>& terms) {
  Overlay overlay{.key = "merged"};
  for (const auto& [index, all] : terms) {
    overlay.changed[index] = [all](const Tensor& stored) {
      Tensor sum = stored.to(at::kFloat).clone();
      for (const SideTerm& term : all)
        sum += at::matmul(term.up.flatten(1), term.down.flatten(1)).view(sum.sizes()) * term.scale;
      return sum;
    };
  }
  return overlay;
}

std::shared_ptr<const Overlay> shared(Overlay overlay) {
  return std::make_shared<const Overlay>(std::move(overlay));
}

TEST(Overlay, GivesTheSameMergedAsBesideTheWeights) {
  Unet unet;
  auto terms = unet.terms();
  Tensor plain = unet.run(), over = unet.run(shared(merged(terms)));
  Tensor beside = unet.run(shared({.key = "beside", .beside = terms}));
  EXPECT_GT(difference(over, plain), 0.01);
  EXPECT_LT(difference(beside, over), tolerance);
  EXPECT_TRUE(at::equal(unet.run(), plain));
}

TEST(Overlay, SharesEveryWeightThatItDoesNotChange) {
  Unet unet;
  const auto& params = unet.loaded.network->params();
  auto overlay = shared({.key = "one", .changed = {{params[0]->index, [](const Tensor& stored) {
                                                      return stored.to(at::kFloat) * 2;
                                                    }}}});
  Binding binding(unet.loaded.binding, overlay);
  EXPECT_TRUE(at::equal(binding[*params[0]], (*unet.loaded.binding)[*params[0]] * 2));
  for (size_t i = 1; i < params.size(); ++i)
    EXPECT_EQ(binding[*params[i]].data_ptr(), (*unet.loaded.binding)[*params[i]].data_ptr());
  EXPECT_EQ(binding.converted_bytes(), binding[*params[0]].nbytes());
}

}  // namespace
}  // namespace omnirt::testing
