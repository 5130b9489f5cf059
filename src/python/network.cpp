#include <ATen/ops/empty.h>

#include "nn/denoiser_network.hpp"
#include "python/arrays.hpp"
#include "python/errors.hpp"
#include "python/held.hpp"
#include "python/parts.hpp"

namespace omnirt::python {
namespace {

using nn::DenoiserNetwork;

// What files of the original's weights call `name`: as the map's rules make it again.
std::vector<std::string> names_in_files(const nn::WeightMap& map, const std::string& name) {
  std::vector<std::string> all{name};
  for (auto rule = map.renames.rbegin(); rule != map.renames.rend(); ++rule) {
    for (size_t i = 0, count = all.size(); i < count; ++i) {
      size_t at = all[i].find(rule->to);
      if (at == std::string::npos) continue;
      std::string other = all[i];
      all.push_back(other.replace(at, rule->to.size(), rule->from));
    }
  }
  return all;
}

// A torch module, a tensor of a tuple, or the `sample` of an output as diffusers' models give it.
nb::object sample_of(nb::object made) {
  if (nb::isinstance<nb::tuple>(made) || nb::isinstance<nb::list>(made)) return made[0];
  return nb::hasattr(made, "sample") ? made.attr("sample") : made;
}

// Has no layers: an adapter or a guider that names some of the original's finds none, and is
// refused.
class ModuleNetwork final : public DenoiserNetwork {
 public:
  ModuleNetwork(std::unique_ptr<nn::Network> original, std::shared_ptr<nb::object> module)
      : DenoiserNetwork(original->config()),
        original_(std::move(original)),
        of_(dynamic_cast<const DenoiserNetwork*>(original_.get())),
        module_(std::move(module)) {
    ensure(of_ != nullptr, "a {} is no denoiser", original_->class_name());
  }

  const char* class_name() const override { return original_->class_name(); }
  nn::Metadata metadata() const override { return original_->metadata(); }
  nn::WeightMap weight_map() const override {
    nn::WeightMap map = original_->weight_map(), none;
    none.ignored = map.ignored;
    for (const Param* param : original_->params()) {
      for (std::string& name : names_in_files(map, param->name))
        none.ignored.push_back(std::move(name));
    }
    return none;
  }
  std::vector<nn::NetworkInput> inputs() const override { return of_->inputs(); }
  int64_t in_channels() const override { return of_->in_channels(); }
  int64_t out_channels() const override { return of_->out_channels(); }
  std::array<int64_t, 2> sample_size() const override { return of_->sample_size(); }
  int64_t context_dim() const override { return of_->context_dim(); }
  int64_t pooled_dim() const override { return of_->pooled_dim(); }
  std::optional<int64_t> time_cond_dim() const override { return of_->time_cond_dim(); }
  bool takes_guidance_scale() const override { return of_->takes_guidance_scale(); }

  Tensor predict(Context& cx, const Values& given) const override {
    const Tensor& sample = given.at("sample").front().tensor();
    std::vector<int64_t> shape = sample.sizes().vec();
    shape[1] = out_channels();
    // A rehearsal: what the module takes is not known.
    if (sample.is_meta()) return at::empty(shape, sample.options());
    std::map<std::string, std::vector<Tensor>> rows;
    for (const auto& [name, list] : given) {
      for (const Value& value : list) rows[name].push_back(nn::each_row(cx, value));
    }
    return Raised::guard([&] { return predicted(rows, shape, sample); });
  }

 private:
  Tensor predicted(const std::map<std::string, std::vector<Tensor>>& rows,
                   const std::vector<int64_t>& shape, const Tensor& like) const {
    nb::dict inputs;
    for (const nn::NetworkInput& input : of_->inputs()) {
      auto found = rows.find(input.name);
      if (found == rows.end()) continue;
      nb::list all;
      for (const Tensor& each : found->second) all.append(to_torch(each));
      inputs[input.name.c_str()] = input.list ? nb::object(all) : nb::object(all[0]);
    }
    Tensor made = from_array(sample_of((*module_)(**inputs)), "the module's prediction");
    if (made.sizes() != at::IntArrayRef(shape) || made.scalar_type() != like.scalar_type())
      throw nb::value_error("the module's prediction is of another shape or type than the sample");
    return made;
  }

  std::unique_ptr<nn::Network> original_;
  const DenoiserNetwork* of_;
  std::shared_ptr<nb::object> module_;
};

}  // namespace

nn::NetworkInfo make_network(const nn::NetworkInfo& original, nb::object module) {
  nn::NetworkInfo made = original;
  auto kept = held(std::move(module));
  made.make = [make = original.make, kept](const Json& config, const std::string& where) {
    return std::make_unique<ModuleNetwork>(make(config, where), kept);
  };
  return made;
}

}  // namespace omnirt::python
