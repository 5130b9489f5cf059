// A network with three outputs, one of them a list, and a block that takes part in the loop after
// the prediction.
#include <ATen/ATen.h>

#include "blocks/denoise.hpp"
#include "nn/feature_metadata.hpp"
#include "nn/layers.hpp"
#include "nn/network.hpp"
#include "pipeline/loop.hpp"
#include "pipeline/plugin.hpp"

using namespace omnirt;

constexpr Key<double> centre{"centre", 1.0, {0, 1}, "centre", "share of the drift taken back"};

// What latents have drifted by: their means, each channel's spread, and a gain that is learned.
class Drift final : public nn::Network {
 public:
  explicit Drift(Json json) : Network(std::move(json)), gain(this, "gain", 1, 1) {}
  const char* class_name() const override { return "Drift"; }
  nn::Metadata metadata() const override { return nn::feature_metadata(*this, {}); }
  // latents {B, C, H, W}; "means" {B, C, 1, 1}, "spreads" a list of {B} per channel, "gain" {1, 1}.
  Values forward(Context& cx, const Tensor& latents) const {
    std::vector<Tensor> spreads;
    for (const Tensor& channel : latents.unbind(1)) spreads.push_back(channel.std({1, 2}));
    Tensor one = at::ones({1, 1}, latents.options());
    return {{"means", {latents.mean({2, 3}, true)}},
            {"spreads", listed(spreads)},
            {"gain", {gain.forward(cx, one)}}};
  }
  nn::Linear gain;
};

class TakeBackDrift final : public StepBlock {
 public:
  Component<Drift> drift{this, "drift"};
  Config<double> share{this, centre};

  TakeBackDrift()
      : StepBlock("take_back_drift", Stage::denoise_loop, Guidance::shared,
                  has_component("drift")) {}

  void after_step(Frame& frame, Walk& walk) const override {
    Values found = frame.call(drift, {{"latents", {walk.latents}}},
                              [](const Drift& network, Context& cx, const Values& in) {
                                return network.forward(cx, one(in, "latents"));
                              });
    ensure(found.at("spreads").size() == static_cast<size_t>(walk.latents.size(1)),
           "a list is one");
    walk.latents = walk.latents - host(found.at("means").front()) *
                                      host(found.at("gain").front()).item<double>() * frame[share];
  }
};

extern "C" Plugin omnirt_plugin() {
  return {.name = "drift", .add = [](Catalogue& catalogue) {
            catalogue.networks.push_back(
                {.class_name = "Drift",
                 .make = [](const Json& json, const std::string&) -> std::unique_ptr<nn::Network> {
                   return std::make_unique<Drift>(json);
                 },
                 .summary = "how far latents have drifted",
                 .weights_base = "diffusion_pytorch_model",
                 .role = "drift"});
            insert_before(catalogue.family("sd").blocks, "denoise",
                          std::make_shared<TakeBackDrift>());
          }};
}
