#include "blocks/denoise.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <fmt/format.h>

#include "blocks/guidance.hpp"
#include "blocks/guidance_embedding.hpp"
#include "pipeline/run_keys.hpp"
#include "request/proposal.hpp"

namespace omnirt::blocks {

DenoiseLoop::DenoiseLoop(const DenoiseOptions& options)
    : LoopBlock(options.name, Stage::denoise_loop, Guidance::takes_over, options.trigger),
      unet(this, options.network) {
  for (const ConstantInput& each : options.constants) constants_.emplace_back(this, each);
}

void DenoiseLoop::start(Frame& frame) const {
  const Schedule& walk = frame[schedule];
  frame[state] = {walk.begin, walk.last()};
  for (const Condition& condition : frame.guider().conditions()) {
    if (condition.sites.empty()) continue;
    frame[state].sites[condition.name] =
        std::make_shared<SitePlan>(plan_sites(condition, frame.stand_in(unet, condition.network)));
  }
  make_constants(frame);
}

namespace {

// Values of one input for the rows of a run: rows with equal numbers are one value.
class DistinctValues {
 public:
  Value of(const std::string& input, const Tensor& row) {
    std::vector<Value>& known = known_[input];
    auto same = [&](const Value& value) {
      return value.tensor().scalar_type() == row.scalar_type() && value.tensor().equal(row);
    };
    auto it = std::ranges::find_if(known, same);
    return it != known.end() ? *it : known.emplace_back(row, Life::run);
  }

 private:
  std::map<std::string, std::vector<Value>> known_;
};

}  // namespace

void DenoiseLoop::make_constants(Frame& frame) const {
  DistinctValues values;
  DenoiseState& at = frame[state];
  at.constants.clear();
  for (const Condition& condition : frame.guider().conditions()) {
    for (int64_t i = 0; i < frame[latents].size(0); ++i) {
      Values& row = at.constants[condition.name].emplace_back();
      for (const auto& [name, tensor] : constants(frame, condition, i))
        row[name] = {values.of(name, tensor)};
    }
  }
}

// What the step at hand shares with those before it.
SharedStep DenoiseLoop::step(Frame& frame) const {
  SharedStep plan{.index = frame[state].index - frame[schedule].begin};
  if (frame[cache] == "none") return plan;
  plan.interval = static_cast<size_t>(frame[cache_interval]);
  plan.branch = static_cast<size_t>(frame[cache_branch]);
  plan.order = static_cast<size_t>(frame[cache_order]);
  return plan;
}

void DenoiseLoop::check(Proposal& proposal) const {
  if (proposal.config.get(keys::cache) != "none") return;
  for (const KeyInfo* key : {static_cast<const KeyInfo*>(&keys::cache_interval),
                             static_cast<const KeyInfo*>(&keys::cache_branch),
                             static_cast<const KeyInfo*>(&keys::cache_order)}) {
    proposal.unused(*key, "has no effect without a cache", "set cache to deep, or remove it");
  }
}

namespace {

// What a saved run brings must be as wide as the network takes it: the encoder and the autoencoder
// that made it are not here to be asked.
void check_restored_width(Proposal& proposal, const char* name, int64_t axis, int64_t wanted) {
  for (const auto& [condition, values] : proposal.restored) {
    auto value = values.find(name);
    const Tensor* tensor = value == values.end() ? nullptr : std::any_cast<Tensor>(&value->second);
    if (!tensor || !tensor->defined() || tensor->size(axis) == wanted) continue;
    proposal.error({"config.resume", proposal.config.maybe(keys::resume).value_or(""),
                    fmt::format("its value '{}' is {} wide, and the network takes {}", name,
                                tensor->size(axis), wanted),
                    "make the state again with this model"});
  }
}

}  // namespace

void DenoiseLoop::check_loaded(Proposal& proposal, const LoadedPipeline& pipeline) const {
  check_guidance(proposal, pipeline, unet.name());
  const auto& own = pipeline.get<nn::DenoiserNetwork>(unet.name());
  check_restored_width(proposal, prompt_embeds.name().c_str(), -1, own.context_dim());
  if (proposal.config.get(keys::cache) == "none") return;
  auto branches = static_cast<int64_t>(own.cache_branches());
  int64_t branch = proposal.config.get(keys::cache_branch);
  if (branches == 0) {
    proposal.error(
        {"config.cache", proposal.config.get(keys::cache),
         fmt::format("{} has no place where steps could share features", own.class_name()),
         "remove it"});
  } else if (branch >= branches) {
    proposal.error({"config.cache_branch", std::to_string(branch),
                    fmt::format("this model's UNet has {} skip connections", branches),
                    fmt::format("give 0 to {}", branches - 1)});
  }
}

Denoiser DenoiseLoop::denoiser(Frame& frame) const {
  auto in_turn = [&frame, this](const RowBatch& batch) {
    SharedStep step = this->step(frame);
    auto body = [](const nn::DenoiserNetwork& network, Context& cx, const Values& inputs) {
      return network.predict(cx, inputs);
    };
    ComponentCall call{.variant = step.variant() + (batch.sites ? batch.sites->key() : ""),
              .body = {},
              .rows = batch.rows,
              .step = step,
              .sites = batch.sites.get()};
    return host(frame.call(unet, batch.inputs, body, std::move(call), batch.network));
  };
  // Its own turn also where another loop runs this one.
  auto predict = [&frame, this, in_turn](const RowBatch& batch) {
    return frame.within(*this, [&] { return in_turn(batch); });
  };
  return {predict, static_cast<size_t>(frame[max_batch_rows])};
}

GuidanceStep DenoiseLoop::guidance_step(Frame& frame) const {
  DenoiseState& at = frame[state];
  const Schedule& walk = frame[schedule];
  return {.index = at.index - walk.begin,
          .steps = at.end - walk.begin,
          .timestep = walk.scheduler->timesteps()[at.index],
          .sigma = noise_to_signal(*walk.scheduler, at.index),
          .sample = frame[latents],
          .state = &at.guider};
}

bool DenoiseLoop::want(Frame& frame, std::vector<Row>& rows) const {
  DenoiseState& at = frame[state];
  const Schedule& walk = frame[schedule];
  if (at.index >= at.end) return false;
  Tensor input = walk.scheduler->scale_model_input(frame[latents], at.index);
  if (const Tensor* extra = frame[extra_channels]) input = at::cat({input, *extra}, 1);
  Tensor timestep = at::full({1}, walk.scheduler->timesteps()[at.index], at::kFloat);
  std::vector<std::string> active = frame.guider().active(guidance_step(frame));
  std::vector<Condition> all = frame.guider().conditions();
  at.asked.clear();
  for (size_t c = 0; c < all.size(); ++c) {
    const Condition& condition = all[c];
    if (std::ranges::find(active, condition.name) == active.end()) continue;
    at.asked.push_back(condition.name);
    auto sites = at.sites.find(condition.name);
    for (int64_t i = 0; i < input.size(0); ++i) {
      Values inputs = at.constants.at(condition.name)[static_cast<size_t>(i)];
      inputs["sample"] = {input.narrow(0, i, 1)};
      inputs["timestep"] = {timestep};
      rows.push_back({.id = {static_cast<uint32_t>(c), static_cast<uint32_t>(i),
                             condition.negative()},
                      .inputs = std::move(inputs),
                      .network = condition.network,
                      .sites = sites == at.sites.end() ? nullptr : sites->second});
    }
  }
  return true;
}

// The network's inputs for one row that are the same at every step.
std::map<std::string, Tensor> DenoiseLoop::constants(Frame& frame, const Condition& condition,
                                                     int64_t picture) const {
  const Tensor& embeds = frame.under(condition.name, prompt_embeds);
  std::map<std::string, Tensor> inputs{{"encoder_hidden_states", embeds.narrow(0, picture, 1)}};
  for (const ConstantPort& each : constants_) {
    const Tensor* given = frame.under(condition.name, each.port);
    if (given) inputs[each.input] = given->narrow(0, given->size(0) == 1 ? 0 : picture, 1);
  }
  if (auto dim = frame.stand_in(unet, condition.network).time_cond_dim())
    inputs["timestep_cond"] = guidance_embedding(frame[guidance_scale], *dim);
  return inputs;
}

void DenoiseLoop::accept(Frame& frame, const std::vector<Tensor>& predictions) const {
  DenoiseState& at = frame[state];
  const Schedule& walk = frame[schedule];
  Tensor& sample = frame[latents];
  auto pictures = sample.size(0);
  Predictions by_condition;
  for (size_t c = 0; c < at.asked.size(); ++c) {
    auto first = predictions.begin() + static_cast<int64_t>(c) * pictures;
    // The scheduler's maths is fp32 whatever the network computes in.
    by_condition[at.asked[c]] =
        at::cat(std::vector<Tensor>(first, first + pictures)).to(at::kFloat);
  }
  GuidanceStep step = guidance_step(frame);
  Tensor output = frame.guider().combine(by_condition, step);
  StepResult result = walk.scheduler->step(output, at.index, sample, *frame[noise_source]);
  sample = std::move(result.prev_sample);
  at.predicted = result.pred_original.value_or(Tensor());
  keep_masked(frame, at.index);
  ++at.index;
}

// Puts the given image back, as noisy as the sample is, where the mask keeps it (reference:
// StableDiffusionInpaintPipeline, UNets without mask channels).
void DenoiseLoop::keep_masked(Frame& frame, size_t index) const {
  const Tensor* mask = frame[keep_mask];
  const Tensor* kept = frame[image_latents];
  const Tensor* drawn = frame[noise];
  if (!mask || !kept || !drawn) return;
  const Schedule& walk = frame[schedule];
  Tensor back =
      index + 1 < frame[state].end ? walk.scheduler->add_noise(*kept, *drawn, index + 1) : *kept;
  frame[latents] = (1 - *mask) * back + *mask * frame[latents];
}

LoopProgress DenoiseLoop::next(Frame& frame) const {
  const DenoiseState& at = frame[state];
  const Schedule& walk = frame[schedule];
  size_t call = std::min(at.index, at.end - 1);
  return {at.index - walk.begin, at.end - walk.begin, walk.scheduler->timesteps()[call]};
}

LoopProgress DenoiseLoop::progress(Frame& frame) const {
  const DenoiseState& at = frame[state];
  const Schedule& walk = frame[schedule];
  return {at.index - walk.begin, at.end - walk.begin, walk.scheduler->timesteps()[at.index - 1]};
}

const Tensor& DenoiseLoop::sample(Frame& frame) const {
  return frame[latents];
}

}  // namespace omnirt::blocks
