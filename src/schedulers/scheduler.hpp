#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "schedulers/history.hpp"
#include "tensor/generator.hpp"
#include "tensor/tensor.hpp"

namespace omnirt {

// How one run steps through its noise schedule.
struct StepPlan {
  int64_t num_inference_steps = 50;
  double eta = 0.0;  // DDIM's; only where uses_eta()
  std::optional<double> mu =
      std::nullopt;  // FlowMatchEuler's dynamic shift, a function of the image size
  // Noise levels from 1 evenly down to 1 / num_inference_steps, before they are shifted, in place
  // of the scheduler's own; only where takes_even_levels().
  bool even_levels = false;
  // The levels themselves, from the noisiest down, where takes_levels(): one timestep for each
  // step, or one sigma. num_inference_steps is then their number.
  std::vector<double> timesteps{};
  std::vector<double> sigmas{};

  bool operator==(const StepPlan&) const = default;
};

// Which lists of a plan a scheduler takes.
struct GivenLevels {
  bool timesteps = false;
  bool sigmas = false;
  bool both = false;      // at once: the network's timesteps, and the noise
  bool with_end = false;  // sigmas hold one more value, where the last step ends
};

struct StepResult {
  Tensor prev_sample;  // the sample one step nearer to the image
  std::optional<Tensor>
      pred_original;  // the image as predicted at this step, where the maths has one
};

// What a scheduler was made from: the class that SchedulerInfo names, and the config it was given.
struct SchedulerOrigin {
  std::string class_name;
  Json config = Json::object();
};

// One scheduler, of one run: it holds the run's timesteps and the history of multistep solvers, and
// is made for each run from its config (no weights, so that costs microseconds). Indices count
// the network calls of the run: timesteps()[i] goes into call i, whose output goes to step(). Calls
// are made with i = begin, begin + 1, ...
class Scheduler {
 public:
  virtual ~Scheduler() = default;

  // Plans a run; the first thing to call. Throws Unsupported for a number of steps that this
  // schedule cannot be run in.
  void set_timesteps(const StepPlan& plan);
  // The first index that will be stepped (image2image starts within the schedule); 0 unless set.
  void set_begin(size_t index) { begin_ = index; }

  // What the network receives, one value per call; Heun and KDPM2 call twice per step.
  const std::vector<double>& timesteps() const { return timesteps_; }
  virtual double init_noise_sigma() const { return 1.0; }
  // Calls of the network per step, as image2image's strength counts them.
  virtual int64_t order() const { return 1; }
  virtual bool uses_eta() const { return false; }
  // Whether a plan may ask for even_levels, as pipelines of flow-matching transformers do.
  virtual bool takes_even_levels() const { return false; }
  virtual GivenLevels takes_levels() const { return {}; }
  // How many steps the plan's lists make; nothing where it has none.
  std::optional<int64_t> given_steps(const StepPlan& plan) const;
  // The network must predict the noise's variance in channels of its own, after those of the sample
  // (variance_type learned, learned_range); step() throws Unsupported when they are missing.
  virtual bool needs_predicted_variance() const { return false; }

  // sample [n, ...] as the network wants it at call `index`.
  virtual Tensor scale_model_input(const Tensor& sample, size_t index);
  // One step from the network's output at call `index`, both fp32, of the sample's shape and on its
  // device; stochastic schedulers draw from `noise`, in
  // the reference's order of draws.
  virtual StepResult step(const Tensor& model_output, size_t index, const Tensor& sample,
                          Noise& noise) = 0;
  // `original` with the noise of call `index`: where image2image begins, and what inpainting puts
  // back each step. Both fp32.
  virtual Tensor add_noise(const Tensor& original, const Tensor& noise, size_t index) const = 0;

  // What makes this scheduler again, in another process: what it was made from, its plan, where it
  // begins, and what it remembers of earlier calls.
  const SchedulerOrigin& origin() const { return origin_; }
  void set_origin(SchedulerOrigin origin) { origin_ = std::move(origin); }
  const StepPlan& plan() const { return plan_; }
  size_t begin() const { return begin_; }
  // Saves or restores each member that calls change (history.hpp); after set_timesteps.
  virtual void visit_history(History&) {}

 protected:
  // set_timesteps() of a plan whose numbers are in range: sets timesteps_ and forgets earlier runs.
  virtual void plan_run(const StepPlan& plan) = 0;
  // Throws Unsupported for lists that this scheduler does not take, that are not finite or do not
  // fall, and for a number of steps that is not theirs.
  void check_given(const StepPlan& plan) const;
  // Fresh noise of the shape and on the device of `like`.
  static Tensor draw_like(Noise& noise, const Tensor& like);

  std::vector<double> timesteps_;
  size_t begin_ = 0;

 private:
  SchedulerOrigin origin_;
  StepPlan plan_;
};

// A scheduler as the catalogue lists it.
// The networks that a scheduler's steps are made for: those that predict noise or velocity on a
// diffusion's path, those of flow matching, those distilled for consistency along a path, or those
// with the preconditioning of EDM (arXiv 2206.00364).
enum class SchedulerFor { diffusion, flow_matching, consistency, edm };

struct SchedulerInfo {
  std::string class_name;                // as scheduler_config.json names it in _class_name
  std::vector<std::string> short_names;  // "euler-discrete", ...
  std::vector<std::string> config_keys;  // the keys of its config that have a meaning here
  std::string summary;
  // Keys of other schedulers in `config` are ignored, as diffusers' from_config does. Values and
  // combinations that the reference refuses, and those not implemented, throw Unsupported by name
  // and value (`where` names the file).
  std::function<std::unique_ptr<Scheduler>(const Json& config, const std::string& where)> make;
  SchedulerFor made_for = SchedulerFor::diffusion;
};

// Every scheduler of this build (schedulers/all.cpp is the list).
const std::vector<SchedulerInfo>& all_schedulers();
// The class names of those that are made for such networks.
std::vector<std::string> schedulers_for(SchedulerFor networks);
// By class name or short name, case folded; nullptr when there is none.
const SchedulerInfo* find_scheduler(const std::string& name);
const SchedulerInfo* find_scheduler(std::span<const SchedulerInfo> among, const std::string& name);

}  // namespace omnirt
