#include "networks/support.hpp"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>

#include <algorithm>

#include "base/ensure.hpp"
#include "catalogue/catalogue.hpp"
#include "digests.hpp"
#include "io/file.hpp"
#include "io/sharded.hpp"
#include "tensor/weight.hpp"
#include "weights/loader.hpp"

namespace omnirt::testing {
namespace {

std::filesystem::path case_folder(const std::string& name) {
  return source_path("tests/goldens/networks/" + name);
}

std::string class_of(const Json& config) {
  if (config.contains("_class_name")) return config["_class_name"].get<std::string>();
  return config["architectures"][0].get<std::string>();
}

const nn::NetworkInfo& info_of(const std::string& class_name) {
  if (const nn::NetworkInfo* info = catalogue().find_network(class_name)) return *info;
  throw InternalError("no class " + class_name);
}

}  // namespace

const Catalogue& catalogue() {
  static const Catalogue all = builtin_catalogue();
  return all;
}

Json read_json(const std::filesystem::path& path) {
  return parse_json(io::read_file(path, max_json_bytes), path.string());
}

std::unique_ptr<nn::Network> make_network(const Json& config, const std::string& where) {
  return info_of(class_of(config)).make(config, where);
}

std::unique_ptr<nn::Network> usual_network(const nn::NetworkInfo& info) {
  Json config = Json::object();
  // The reference has several architectures of this name, of which one is here.
  if (info.class_name == "Transformer2DModel") config["norm_type"] = "ada_norm_single";
  // The reference's class has no defaults for these; they are Union 1.0's.
  if (info.class_name == "ZImageControlNetModel")
    config = {{"control_layers_places", {0, 5, 10, 15, 20, 25}}, {"control_in_dim", 16}};
  return info.make(config, info.class_name);
}

LoadedNetwork load_case(const std::string& name, ComputeForm form) {
  return load_folder(case_folder(name), form);
}

LoadedNetwork load_folder(const std::filesystem::path& folder, ComputeForm form) {
  at::set_num_threads(1);  // tensors are tiny here, and tests run in parallel
  LoadedNetwork loaded;
  Json config = read_json(folder / "config.json");
  std::string name = folder.filename().string();
  loaded.network = make_network(config, name);
  std::vector<std::string> bases{info_of(class_of(config)).weights_base};
  auto files = io::TensorFiles::open(folder, bases);
  auto store = open_weights(files, *loaded.network, name);
  loaded.binding = bind_weights(*store, *loaded.network, form);
  return loaded;
}

LoadedNetwork without_weights(std::unique_ptr<nn::Network> network, ComputeForm form) {
  LoadedNetwork loaded;
  loaded.network = std::move(network);
  loaded.binding =
      std::make_shared<const Binding>(std::vector<std::shared_ptr<const Weight>>{}, form);
  return loaded;
}

Tensors golden(const std::string& name, const std::string& file) {
  return read_tensors(case_folder(name) / (file + ".safetensors"));
}

Tensors read_tensors(const std::filesystem::path& path) {
  auto opened = io::SafetensorsFile::open(path);
  Tensors tensors;
  for (const io::TensorEntry& entry : opened->entries()) {
    Weight weight{.name = entry.name,
                  .dtype = entry.dtype,
                  .shape = entry.shape,
                  .data = opened->data(entry).data(),
                  .bytes = entry.bytes,
                  .owner = opened,
                  .release = {}};
    tensors[entry.name] = weight.view().clone();
  }
  return tensors;
}

std::vector<std::string> cases(const std::string& prefix) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(case_folder(""))) {
    std::string name = entry.path().filename().string();
    if (entry.is_directory() && name.starts_with(prefix)) names.push_back(name);
  }
  std::ranges::sort(names);
  ensure(!names.empty(), "no golden case {}*", prefix);
  return names;
}

std::vector<std::string> files(const std::string& name, const std::string& prefix) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(case_folder(name))) {
    std::string file = entry.path().stem().string();
    if (file.starts_with(prefix)) found.push_back(file);
  }
  std::ranges::sort(found);
  ensure(!found.empty(), "no golden file {}/{}*", name, prefix);
  return found;
}

double difference(const Tensor& actual, const Tensor& expected) {
  record_digest("difference", actual);
  ensure(actual.sizes() == expected.sizes(), "shapes differ");
  Tensor wanted = expected.to(at::kDouble);
  double largest = (actual.to(at::kDouble) - wanted).abs().max().item<double>();
  return largest / std::max(wanted.abs().max().item<double>(), 1e-30);
}

Values inputs_of(const Tensors& tensors) {
  Values inputs;
  for (const auto& [name, tensor] : tensors) {
    if (!name.starts_with("in.")) continue;
    std::string input = name.substr(3);
    size_t dot = input.rfind('.');
    bool numbered = dot != std::string::npos &&
                    input.find_first_not_of("0123456789", dot + 1) == std::string::npos;
    inputs[numbered ? input.substr(0, dot) : input].emplace_back(tensor);
  }
  return inputs;
}

}  // namespace omnirt::testing
