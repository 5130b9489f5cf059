#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/arrays.hpp"
#include "python/errors.hpp"
#include "python/held.hpp"
#include "python/parts.hpp"

namespace omnirt::python {
namespace {

Tensor tensor_like(nb::handle value, const Tensor& like, const std::string& what) {
  Tensor made = from_array(value, what);
  if (made.sizes() != like.sizes() || made.scalar_type() != like.scalar_type())
    throw nb::value_error((what + ": a tensor of the sample's shape and type is expected").c_str());
  return made;
}

class PythonScheduler final : public Scheduler {
 public:
  explicit PythonScheduler(nb::object scheduler) : scheduler_(held(std::move(scheduler))) {}

  double init_noise_sigma() const override {
    return Raised::guard([&] { return nb::cast<double>(scheduler_->attr("init_noise_sigma")()); });
  }
  Tensor scale_model_input(const Tensor& sample, size_t index) override {
    return Raised::guard([&] {
      return tensor_like(scheduler_->attr("scale_model_input")(to_torch(sample), index), sample,
                         "scale_model_input()");
    });
  }
  StepResult step(const Tensor& model_output, size_t index, const Tensor& sample,
                  Noise& noise) override {
    return Raised::guard([&]() -> StepResult {
      auto draw = nb::cpp_function(
          [&noise](const std::vector<int64_t>& shape) { return to_torch(noise.randn(shape)); });
      nb::object made =
          scheduler_->attr("step")(to_torch(model_output), index, to_torch(sample), draw);
      if (!nb::isinstance<nb::tuple>(made)) return {tensor_like(made, sample, "step()"), {}};
      nb::tuple both = nb::cast<nb::tuple>(made);
      if (both.size() != 2)
        throw nb::value_error("step(): the next sample, or it and the image as predicted");
      StepResult result{tensor_like(both[0], sample, "step()"), {}};
      if (!both[1].is_none()) result.pred_original = tensor_like(both[1], sample, "step()");
      return result;
    });
  }
  Tensor add_noise(const Tensor& original, const Tensor& noise, size_t index) const override {
    return Raised::guard([&] {
      return tensor_like(scheduler_->attr("add_noise")(to_torch(original), to_torch(noise), index),
                         original, "add_noise()");
    });
  }

 protected:
  void plan_run(const StepPlan& plan) override {
    timesteps_ = Raised::guard([&] {
      auto made = nb::cast<std::vector<double>>(scheduler_->attr("plan")(plan.num_inference_steps));
      if (made.empty()) throw nb::value_error("set_timesteps(): at least one timestep is expected");
      return made;
    });
  }

 private:
  std::shared_ptr<nb::object> scheduler_;
};

}  // namespace

SchedulerInfo make_scheduler(const Json& spec, nb::object make) {
  const std::string class_name = spec.at("class_name");
  const std::string made_for = spec.value("made_for", "diffusion");
  auto maker = held(std::move(make));
  return {.class_name = class_name,
          .short_names = spec.value("short_names", std::vector<std::string>()),
          .config_keys = spec.value("config_keys", std::vector<std::string>()),
          .summary = spec.value("summary", ""),
          .make =
              [class_name, maker](const Json& config, const std::string&) {
                return Raised::guard([&]() -> std::unique_ptr<Scheduler> {
                  auto made = std::make_unique<PythonScheduler>((*maker)(config.dump()));
                  made->set_origin({class_name, config});
                  return made;
                });
              },
          .made_for =
              made_for == "flow_matching" ? SchedulerFor::flow_matching : SchedulerFor::diffusion};
}

}  // namespace omnirt::python
