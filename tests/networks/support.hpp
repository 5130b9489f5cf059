#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "nn/network.hpp"
#include "pipeline/model_spec.hpp"
#include "runtime/context.hpp"
#include "source_paths.hpp"

namespace omnirt::testing {

using Tensors = std::map<std::string, Tensor>;

Json read_json(const std::filesystem::path& path);

// What the program has: classes are found here as a checkpoint's are.
const Catalogue& catalogue();
// The network of a component's config.json, by the class that the config names.
std::unique_ptr<nn::Network> make_network(const Json& config, const std::string& where = "config");
// As above, from the class's name and a few values over its defaults.
template <class Made>
std::unique_ptr<Made> make(const nn::NetworkInfo& info, const Json& config = Json::object()) {
  auto network = info.make(config, "config");
  return std::unique_ptr<Made>(dynamic_cast<Made*>(network.release()));
}

// A network of the class with its defaults, and what it cannot be without.
std::unique_ptr<nn::Network> usual_network(const nn::NetworkInfo& info);

// A network with its weights and an op table of references.
struct LoadedNetwork {
  std::unique_ptr<nn::Network> network;
  std::shared_ptr<const Binding> binding;
  ops::OpTable ops;

  Context context(Context::Options options = {}) const { return {ops, binding, options}; }
  template <class Made>
  const Made& as() const {
    return dynamic_cast<const Made&>(*network);
  }
};

// tests/goldens/networks/<name>.
LoadedNetwork load_case(const std::string& name, ComputeForm form = {});
// A component's folder: config.json and weights.
LoadedNetwork load_folder(const std::filesystem::path& folder, ComputeForm form = {});
// A network without weights, for dry forwards.
LoadedNetwork without_weights(std::unique_ptr<nn::Network> network, ComputeForm form = {});

// The tensors of one file of a case.
Tensors golden(const std::string& name, const std::string& file);

Tensors read_tensors(const std::filesystem::path& path);

// The tensors "in.<name>" of a golden, as a network's inputs; "in.<name>.<number>" is one of a
// list.
Values inputs_of(const Tensors& tensors);

// The cases whose names begin so, and the golden files of a case that do.
std::vector<std::string> cases(const std::string& prefix);
std::vector<std::string> files(const std::string& name, const std::string& prefix);

// The largest difference over the largest expected value.
double difference(const Tensor& actual, const Tensor& expected);

}  // namespace omnirt::testing
