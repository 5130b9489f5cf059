// Configs of networks and schedulers, and pipelines' indexes: real ones, with values changed.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include <ATen/ops/full.h>

#include "base/error.hpp"
#include "catalogue/catalogue.hpp"
#include "fuzz/files.hpp"
#include "fuzz/mutate_json.hpp"
#include "fuzz/target.hpp"
#include "source_paths.hpp"
#include "weights/pipeline_folder.hpp"

namespace omnirt::fuzz {
namespace {
namespace fs = std::filesystem;

// An input's first byte picks one.
enum Kind : char { network, scheduler, pipeline };

struct Seed {
  Kind kind;
  Json json;
};

Kind kind_of(const fs::path& file) {
  if (file.filename() == "model_index.json") return pipeline;
  return file.filename() == "scheduler_config.json" ? scheduler : network;
}

std::vector<Seed> read_seeds() {
  std::vector<fs::path> files;
  for (const char* folder : {"tests/data/configs", "tests/goldens/networks"}) {
    for (const auto& entry : fs::recursive_directory_iterator(source_path(folder))) {
      std::string name = entry.path().filename();
      if (name == "config.json" || name == "scheduler_config.json" || name == "model_index.json")
        files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  std::vector<Seed> seeds;
  for (const fs::path& file : files) {
    std::ifstream stream(file);
    std::string text(std::istreambuf_iterator<char>(stream), {});
    seeds.push_back({kind_of(file), parse_json(text, file.string())});
  }
  return seeds;
}

const Catalogue& catalogue() {
  static const Catalogue all = builtin_catalogue();
  return all;
}

std::string class_of(const Json& config) {
  for (const char* key : {"_class_name", "architectures"}) {
    auto it = config.find(key);
    if (it == config.end()) continue;
    if (it->is_string()) return it->get<std::string>();
    if (it->is_array() && !it->empty() && it->front().is_string()) return it->front();
  }
  return "";
}

void read_network(const Json& config) {
  const nn::NetworkInfo* info = catalogue().find_network(class_of(config));
  if (!info) throw InvalidRequest({"class", class_of(config), "no network has this name", ""});
  auto made = info->make(config, "config.json");
  require(!made->params().empty(), "a network has parameters");
  for (const Param* param : made->params()) {
    for (int64_t size : param->shape) require(size > 0, "a parameter's sizes are positive");
  }
  made->metadata();
}

void read_scheduler(const Json& config) {
  const SchedulerInfo* info = catalogue().find_scheduler(class_of(config));
  if (!info) throw InvalidRequest({"class", class_of(config), "no scheduler has this name", ""});
  auto made = info->make(config, "scheduler_config.json");
  made->set_timesteps({.num_inference_steps = 5});
  require(!made->timesteps().empty() && made->timesteps().size() < 20, "a run has timesteps");
  Tensor sample = at::full({1, 4, 2, 2}, 0.5);
  made->scale_model_input(sample, 0);
  made->add_noise(sample, sample, 0);
}

void read_pipeline(const Json& index) {
  fs::path folder = fresh_folder();
  for (const char* name : {"unet", "vae", "text_encoder", "tokenizer", "scheduler", "transformer"})
    write_text(folder / name / "config.json", R"({"_class_name": "A"})");
  write_text(folder / "model_index.json",
             index.dump(-1, ' ', false, Json::error_handler_t::replace));
  PipelineFolder read = read_pipeline_folder(folder);
  for (const auto& [name, component] : read.components)
    require(component.folder.parent_path() == folder, "a component is in the pipeline's folder");
}

}  // namespace

std::string make_input(Random& random) {
  static const std::vector<Seed> seeds = read_seeds();
  const Seed& seed = seeds[below(seeds.size(), random)];
  Json changed = mutate_json(seed.json, random);
  return char{seed.kind} + changed.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void read_input(std::string_view input) {
  if (input.empty()) return;
  Json config = parse_json(input.substr(1), "fuzz", 1 << 20);
  if (!config.is_object()) throw InvalidRequest({"fuzz", "", "no object", ""});
  switch (input.front()) {
    case network:
      return read_network(config);
    case scheduler:
      return read_scheduler(config);
    default:
      return read_pipeline(config);
  }
}

}  // namespace omnirt::fuzz
