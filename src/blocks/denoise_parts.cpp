#include "blocks/denoise_parts.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <fmt/format.h>

#include <algorithm>

#include "blocks/guidance.hpp"
#include "blocks/guidance_embedding.hpp"
#include "nn/transformer_network.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/run_keys.hpp"

namespace omnirt::blocks {
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

GuidanceStep guidance_step(Walk& walk) {
  const Scheduler& scheduler = *walk.schedule.scheduler;
  return {.index = walk.index - walk.schedule.begin,
          .steps = walk.end - walk.schedule.begin,
          .timestep = scheduler.timesteps()[walk.index],
          .sigma = noise_to_signal(scheduler, walk.index),
          .sample = walk.latents,
          .state = &walk.guider};
}

}  // namespace

void PrepareInput::run(Frame& frame, const StepAt& at) const {
  const Schedule& along = frame[schedule];
  Tensor input = along.scheduler->scale_model_input(frame[latents], along.begin + at.i);
  if (const Tensor* extra = frame[extra_channels]) input = at::cat({input, *extra}, 1);
  frame[model_input] = std::move(input);
}

Predict::Predict(const DenoiseOptions& options)
    : PredictPart("predict"), unet(this, options.network), after_guidance_(options.after_guidance) {
  for (const ConstantInput& each : options.constants) constants_.emplace_back(this, each);
  if (!options.text_mask.empty())
    text_mask_.emplace(this, options.text_mask, "1 where the prompt has a token, 0 behind it");
}

void Predict::begin(Frame& frame, Walk& walk) const {
  for (const Condition& condition : frame.guider().conditions()) {
    if (condition.sites.empty()) continue;
    walk.sites[condition.name] =
        std::make_shared<SitePlan>(plan_sites(condition, frame.stand_in(unet, condition.network)));
  }
  make_constants(frame, walk);
}

void Predict::make_constants(Frame& frame, Walk& walk) const {
  DistinctValues values;
  for (const Condition& condition : frame.guider().conditions()) {
    for (int64_t i = 0; i < walk.latents.size(0); ++i) {
      Values& row = walk.constants[condition.name].emplace_back();
      for (const auto& [name, tensor] : constants(frame, condition, i))
        row[name] = {values.of(name, tensor)};
    }
  }
}

// What a saved run brings must be as wide as the network takes it: the encoder that made it is not
// here to be asked.
void Predict::check_restored(Checks& checks) const {
  int64_t wanted = checks[unet].context_dim();
  for (const Tensor* embeds : checks.restored(prompt_embeds)) {
    if (!embeds || !embeds->defined() || embeds->size(-1) == wanted) continue;
    checks.refuse_restored(prompt_embeds, fmt::format("is {} wide, and the network takes {}",
                                                      embeds->size(-1), wanted));
  }
}

void Predict::check_loaded(Checks& checks) const {
  check_guidance(checks, unet);
  check_restored(checks);
  check_cache(checks);
}

Denoiser Predict::denoiser(Frame& frame) const {
  const auto most = static_cast<size_t>(frame[max_batch_rows]);
  auto in_turn = [&frame, this, most](const RowBatch& batch) {
    const bool joins = !batch.step.shares_any() && !batch.sites &&
                       frame.stand_in(unet, batch.network).joins_runs(batch.inputs);
    const bool past = !batch.past_blocks.empty();
    auto body = [past](const nn::DenoiserNetwork& network, Context& cx, const Values& inputs) {
      return past ? dynamic_cast<const nn::TransformerNetwork&>(network).end(cx, inputs)
                  : network.predict(cx, inputs);
    };
    ComponentCall call{.variant = (past ? "end" : "") + batch.step.variant() +
                                  (batch.sites ? batch.sites->key() : ""),
                       .body = {},
                       .rows = batch.rows,
                       .step = batch.step,
                       .sites = batch.sites.get(),
                       .joins_up_to = joins ? most : 0};
    return host(frame.call(unet, past ? batch.past_blocks : batch.inputs, body, std::move(call),
                           batch.network));
  };
  // Its own turn also where another loop runs this one.
  auto predict = [&frame, this, in_turn](const RowBatch& batch) {
    return frame.within(*this, [&] { return in_turn(batch); });
  };
  return {predict, most};
}

void Predict::ask(Frame& frame, Walk& walk, std::vector<Row>& rows) const {
  const Tensor& input = frame[model_input];
  Value timestep(at::full({1}, walk.schedule.scheduler->timesteps()[walk.index], at::kFloat));
  std::vector<std::string> active = frame.guider().active(guidance_step(walk));
  std::vector<Condition> all = frame.guider().conditions();
  const SharedStep shared = step(frame, walk);
  walk.asked.clear();
  for (size_t c = 0; c < all.size(); ++c) {
    const Condition& condition = all[c];
    if (std::ranges::find(active, condition.name) == active.end()) continue;
    walk.asked.push_back(condition.name);
    auto sites = walk.sites.find(condition.name);
    for (int64_t i = 0; i < input.size(0); ++i) {
      Values inputs = walk.constants.at(condition.name)[static_cast<size_t>(i)];
      inputs["sample"] = {input.narrow(0, i, 1)};
      inputs["timestep"] = {timestep};
      rows.push_back(
          {.id = {static_cast<uint32_t>(c), static_cast<uint32_t>(i), condition.negative()},
           .inputs = std::move(inputs),
           .network = condition.network,
           .sites = sites == walk.sites.end() ? nullptr : sites->second,
           .step = shared});
    }
  }
}

// {1, T, D}.
Tensor Predict::text_of(Frame& frame, const Condition& condition, int64_t image) const {
  Tensor embeds = frame.under(condition.name, prompt_embeds).narrow(0, image, 1);
  const Tensor* mask = text_mask_ ? frame.under(condition.name, *text_mask_) : nullptr;
  if (!mask) return embeds;
  return embeds.narrow(1, 0, mask->select(0, image).sum().item<int64_t>());
}

// The network's inputs for one row that are the same at every step.
std::map<std::string, Tensor> Predict::constants(Frame& frame, const Condition& condition,
                                                 int64_t image) const {
  std::map<std::string, Tensor> inputs{{"encoder_hidden_states", text_of(frame, condition, image)}};
  for (const ConstantPort& each : constants_) {
    const Tensor* given = frame.under(condition.name, each.port);
    if (given) inputs[each.input] = given->narrow(0, given->size(0) == 1 ? 0 : image, 1);
  }
  const nn::DenoiserNetwork& network = frame.stand_in(unet, condition.network);
  if (auto dim = network.time_cond_dim())
    inputs["timestep_cond"] = guidance_embedding(frame[guidance_scale], *dim);
  else if (network.takes_guidance_scale())
    inputs["guidance"] = at::full({1}, frame[guidance_scale], at::kFloat);
  return inputs;
}

void Predict::take(Frame& frame, Walk& walk, const std::vector<Tensor>& predictions) const {
  auto images = walk.latents.size(0);
  Predictions by_condition;
  for (size_t c = 0; c < walk.asked.size(); ++c) {
    auto first = predictions.begin() + static_cast<int64_t>(c) * images;
    // The scheduler's maths is fp32 whatever the network computes in.
    by_condition[walk.asked[c]] =
        at::cat(std::vector<Tensor>(first, first + images)).to(at::kFloat);
  }
  GuidanceStep step = guidance_step(walk);
  Tensor output = frame.guider().combine(by_condition, step);
  auto cond = by_condition.find("cond");
  if (after_guidance_ && by_condition.size() > 1 && cond != by_condition.end())
    output = after_guidance_(output, cond->second);
  frame[prediction] = std::move(output);
}

void TakeStep::run(Frame& frame, const StepAt& at) const {
  const Schedule& along = frame[schedule];
  StepResult result = along.scheduler->step(frame[prediction], along.begin + at.i, frame[latents],
                                            *frame[noise_source]);
  frame[latents] = std::move(result.prev_sample);
  frame[predicted_original] = result.pred_original.value_or(Tensor());
}

}  // namespace omnirt::blocks
