#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/nearest.hpp"
#include "base/path_text.hpp"
#include "pipeline/component_networks.hpp"
#include "pipeline/keys.hpp"
#include "request/component_files.hpp"
#include "request/model_search.hpp"
#include "request/single_file.hpp"
#include "request/validate.hpp"
#include "request/web_address.hpp"

namespace omnirt::validation {
namespace fs = std::filesystem;
namespace {

// Where ids are looked for, in words.
std::string places_of(const std::string& id) {
  std::vector<std::string> places;
  for (const fs::path& folder : model_folders()) places.push_back(path_text(folder / id));
  if (places.empty())
    places.emplace_back(
        "no folder of models, since OMNIRT_MODELS names none and none is next to the program,");
  return fmt::format("looked in {} and the Hugging Face cache", fmt::join(places, ", "));
}

Finding missing_weights(const ModelSpec& entry) {
  std::string download = entry.hub_ids.empty()
                             ? ""
                             : fmt::format("get them (omnirt pull {}), ", entry.hub_ids.front());
  return {"model", entry.id,
          fmt::format("its weights are not on this machine ({})", places_of(entry.id)),
          download +
              "give model the folder, set config.model_path, or put it below a folder named in "
              "OMNIRT_MODELS"};
}

Finding unknown_model(const Proposal& proposal, const std::string& model) {
  std::string nearest = nearest_name(model, proposal.catalogue->ids());
  bool file = model.ends_with(".safetensors") || model.ends_with(".gguf");
  bool repository = std::ranges::count(model, '/') == 1 && !file;
  std::string way_out = repository        ? "download it: omnirt pull " + model
                        : nearest.empty() ? "`omnirt models` lists those that are known"
                                          : "did you mean '" + nearest + "'?";
  return {
      "model", model,
      fmt::format("neither a known model nor a folder or file that is here ({})", places_of(model)),
      way_out};
}

// The entry of the id `model`; null for a folder or file, whatever its name.
const ModelSpec* entry_of_id(const Proposal& proposal, const std::string& model) {
  const bool located = proposal.request.location_of("model", model) != nullptr;
  return located ? nullptr : proposal.catalogue->find_entry(model, "");
}

// The folder that holds the weights of `model`; throws with the places that were searched.
// Sets how the request names the model wherever it runs.
fs::path folder_of(Proposal& proposal, const std::string& model) {
  const Json& config = proposal.request.config;
  refuse_url("model", model);
  proposal.model = model;
  const ModelSpec* entry = entry_of_id(proposal, model);
  // A registered id wins over a folder of the same name in the working directory: "./name" says the
  // folder.
  const bool reached = proposal.reaches("model", model);
  bool is_path =
      !entry && looks_like_path(model, reached ? proposal.request.path_of("model", model) : "");
  const std::string path = is_path ? proposal.source_of("model", model) : "";
  if (is_path && !proposal.request.location_of("model", model)) proposal.model = path;
  if (config.contains(keys::model_path.name) && config[keys::model_path.name].is_string())
    return config[keys::model_path.name].get<std::string>();
  if (is_path) return path;
  fs::path found =
      find_model(entry ? entry->id : model, entry ? entry->hub_ids : std::vector<std::string>{});
  if (!found.empty()) return found;
  throw UnknownModel(entry ? missing_weights(*entry) : unknown_model(proposal, model));
}

// The folder, or the file opened as one is.
PipelineFolder open_model(Proposal& proposal, const fs::path& path) {
  std::error_code error;
  const Json& config = proposal.request.config;
  const char* key = keys::single_file_config.name;
  bool given = config.contains(key) && config[key].is_string();
  if (!fs::is_regular_file(path, error)) {
    if (given) {
      throw InvalidRequest({std::string("config.") + key, config[key].get<std::string>(),
                            "it is for models of one file, and this one is a folder", "remove it"});
    }
    return open_pipeline_folder(path);
  }
  const Json settings = config.value(keys::scheduler_config.name, Json::object());
  const Json asked = settings.is_object() ? settings.value("prediction_type", Json()) : Json();
  SingleFile opened = open_single_file(
      *proposal.catalogue, path, given ? fs::path(config[key].get<std::string>()) : fs::path(),
      asked.is_string() ? asked.get<std::string>() : "");
  proposal.single_file = opened;
  for (const SingleFileDecision& each : opened.decisions) {
    if (each.doubtful) proposal.warn({"model." + each.what, each.value, each.how, ""});
  }
  return std::move(opened.folder);
}

// A part that replaces another must do what the part of the same name does.
void check_role(const Proposal& proposal, const ComponentFolder& component) {
  const ComponentFolder* own = proposal.folder.find(component.name);
  const nn::NetworkInfo* before = own ? proposal.catalogue->find_network(own->class_name) : nullptr;
  const nn::NetworkInfo* given = proposal.catalogue->find_network(component.class_name);
  if (!before || (given && given->role == before->role)) return;
  throw InvalidRequest(
      {"components." + component.name, path_text(component.folder),
       fmt::format("holds a {}, where a {} is expected", component.class_name, before->role),
       "name a folder of the right kind"});
}

// Those that the asked task needs, and no others; `by_inputs` is the task that takes just these.
void check_inputs(Proposal& proposal, const TaskInputs& task, const TaskInputs* by_inputs,
                  const std::set<std::string>& present) {
  for (const std::string& input : task.inputs) {
    if (present.contains(input)) continue;
    proposal.error({"inputs." + input, "",
                    fmt::format("task {} needs it, and it is missing", task.task),
                    fmt::format("add inputs.{}", input)});
  }
  std::string way = by_inputs ? "set task to " + by_inputs->task + ", or remove it" : "remove it";
  for (const std::string& input : present) {
    if (task.inputs.contains(input)) continue;
    proposal.error(
        {"inputs." + input, "", fmt::format("task {} does not take it", task.task), way});
  }
}

// The model's own entry for the task, where it has one.
void take_entry(Proposal& proposal) {
  const ModelSpec* exact = proposal.catalogue->find_entry(proposal.spec->id, proposal.task);
  if (!exact && proposal.spec->trained_for_its_tasks_only) {
    std::vector<std::string> own = proposal.catalogue->tasks_of(proposal.spec->id);
    proposal.error({"task", proposal.task,
                    fmt::format("model '{}' was not trained for this task", proposal.spec->id),
                    fmt::format("its tasks: {}", fmt::join(own, ", "))});
  }
  if (exact) proposal.spec = exact;
}

// What a family's modular pipelines make where their folder brings none.
void add_usual_scheduler(PipelineFolder& folder, const Json& config) {
  const char* name = "scheduler";
  if (config.is_null() || folder.find(name) || folder.elsewhere.contains(name)) return;
  folder.components.emplace(
      name,
      ComponentFolder{
          name, "diffusers", config.at("_class_name").get<std::string>(), folder.path, {}, config});
}

// Dozens are known, of which one is of use.
std::string nearest_class(const std::string& name, const std::vector<std::string>& known) {
  const std::string nearest = nearest_name(name, known);
  const std::string all = "`omnirt models` lists the models that it has";
  return nearest.empty() ? all : fmt::format("the nearest that it has is {}; {}", nearest, all);
}

}  // namespace

bool settle_model(Proposal& proposal) {
  const std::string& given = proposal.request.model;
  std::string model = given.empty() ? proposal.catalogue->default_model : given;
  fs::path path = folder_of(proposal, model);
  proposal.folder = open_model(proposal, path);
  proposal.family = proposal.catalogue->family_of_class(proposal.folder.class_name);
  if (!proposal.family) {
    std::vector<std::string> known;
    for (const Family& family : proposal.catalogue->families) {
      known.insert(known.end(), family.pipeline_classes.begin(), family.pipeline_classes.end());
    }
    throw Unsupported({"model", path_text(path),
                       fmt::format("its index names the pipeline class '{}', which this "
                                   "build does not have",
                                   proposal.folder.class_name),
                       nearest_class(proposal.folder.class_name, known)});
  }
  add_usual_scheduler(proposal.folder, proposal.family->usual_scheduler);
  const ModelSpec* entry = entry_of_id(proposal, model);
  if (!entry)
    entry = proposal.catalogue->find_entry(proposal.family->variant_of(proposal.folder), "");
  if (entry && proposal.catalogue->family_of(*entry) != proposal.family) {
    throw InvalidRequest({"model", model,
                          fmt::format("the folder {} holds a {}, another family", path_text(path),
                                      proposal.folder.class_name),
                          "name the folder's own model, or omit model_path"});
  }
  proposal.spec = entry;
  proposal.facts.index = proposal.folder.index;
  return entry != nullptr;
}

bool settle_task(Proposal& proposal) {
  for (const auto& [name, value] : proposal.request.inputs.items()) {
    if (!value.is_null()) proposal.facts.inputs.insert(name);
  }
  const std::string& given = proposal.request.task;
  if (!given.empty() && std::ranges::find(task_names(), given) == task_names().end()) {
    proposal.error({"task", given, "unknown task",
                    suggest(given, proposal.catalogue->tasks_of(proposal.spec->id))});
    return false;
  }
  // What distinguishes tasks are the inputs that the family's tasks name.
  std::set<std::string> telling, present;
  for (const TaskInputs& task : proposal.family->tasks)
    telling.insert(task.inputs.begin(), task.inputs.end());
  std::ranges::set_intersection(telling, proposal.facts.inputs,
                                std::inserter(present, present.end()));
  const TaskInputs* by_inputs = nullptr;
  const TaskInputs* by_name = nullptr;
  for (const TaskInputs& task : proposal.family->tasks) {
    if (task.inputs == present && (!by_inputs || task.task == given)) by_inputs = &task;
    if (task.task == given && (!by_name || task.inputs == present)) by_name = &task;
  }
  if (given.empty() && by_inputs) {
    proposal.task = by_inputs->task;
  } else if (given.empty()) {
    refuse_inputs(proposal, present);
    return false;
  } else if (!by_name) {
    proposal.error({"task", given,
                    fmt::format("model '{}' does not do this task", proposal.spec->id),
                    fmt::format("its tasks: {}",
                                fmt::join(proposal.catalogue->tasks_of(proposal.spec->id), ", "))});
    return false;
  } else {
    check_inputs(proposal, *by_name, by_inputs, present);
    proposal.task = given;
    if (!proposal.errors.empty() && by_name != by_inputs) return false;
  }
  proposal.facts.task = proposal.task;
  take_entry(proposal);
  return true;
}

void settle_backend(Proposal& proposal) {
  const std::string& given = proposal.request.backend;
  try {
    Resolution found = resolve_device(proposal.catalogue->backends,
                                      given.empty() ? proposal.spec->default_backend : given);
    proposal.device = found.device;
    proposal.backends_passed_over = std::move(found.passed_over);
  } catch (const InvalidRequest& thrown) {
    proposal.take(thrown);
  }
}

namespace {

// A tokenizer's folder may name no class: it is then of that of the one whose place it takes.
void settle_class(const Proposal& proposal, ComponentFolder& component) {
  if (!component.class_name.empty()) return;
  const Json& index = proposal.folder.index;
  auto entry = index.find(component.name);
  bool named =
      entry != index.end() && entry->is_array() && entry->size() == 2 && entry->back().is_string();
  std::string own = named ? entry->back().get<std::string>() : "";
  if (!proposal.catalogue->find_tokenizer(own)) {
    throw InvalidRequest({"components." + component.name, path_text(component.folder),
                          "the folder has no config.json that names a class",
                          "give a component's folder, such as <model>/" + component.name});
  }
  component.class_name = own;
}

// What the model's index, its folder or its file says of the component.
}  // namespace

WantedComponent wanted_component(const Proposal& proposal, const std::string& name) {
  if (const ComponentFolder* own = proposal.folder.find(name))
    return {own->class_name, own->config};
  if (proposal.single_file) {
    const auto missing = proposal.single_file->missing.find(name);
    if (missing != proposal.single_file->missing.end())
      return {missing->second.class_name, missing->second.config};
  }
  const Json& index = proposal.folder.index;
  auto entry = index.find(name);
  const bool listed =
      entry != index.end() && entry->is_array() && entry->size() == 2 && entry->back().is_string();
  return {listed ? entry->back().get<std::string>() : "", {}};
}

namespace {

ComponentFolder given_component(const Proposal& proposal, const std::string& name,
                                const std::string& path) {
  auto file =
      read_component_file(*proposal.catalogue, name, path, wanted_component(proposal, name));
  if (file) return std::move(*file);
  ComponentFolder component = read_component_folder(name, path);
  settle_class(proposal, component);
  return component;
}

}  // namespace

void settle_components(Proposal& proposal) {
  std::vector<std::string> known;
  for (const auto& block : proposal.family->blocks) {
    for (const PortInfo& port : block->ports()) {
      if (port.kind == PortInfo::Kind::component) known.push_back(port.name);
    }
  }
  for (const GuiderInfo& guider : proposal.catalogue->guiders)
    known.insert(known.end(), guider.components.begin(), guider.components.end());
  std::ranges::sort(known);
  known.erase(std::unique(known.begin(), known.end()), known.end());
  for (const auto& [name, value] : proposal.request.components.items()) {
    std::string field = "components." + name;
    if (std::ranges::find(known, name) == known.end()) {
      proposal.error(
          {field, shown(value), "this model has no such component", suggest(name, known)});
    } else if (!value.is_string()) {
      proposal.error({field, shown(value), "a folder is expected, as a text", ""});
    } else {
      try {
        // An upscaler that was found by name may be anywhere (settle_paths).
        std::string path = is_upscaler(field) ? value.get<std::string>()
                                              : proposal.source_of(field, value.get<std::string>());
        ComponentFolder component = given_component(proposal, name, path);
        check_role(proposal, component);
        proposal.folder.components.insert_or_assign(name, std::move(component));
      } catch (const InvalidRequest& thrown) {
        proposal.take(thrown);
      }
    }
  }
}

void settle_networks(Proposal& proposal) {
  for (const auto& [name, component] : proposal.folder.components) describe(proposal, component);
}

void describe(Proposal& proposal, const ComponentFolder& component) {
  auto& network = proposal.facts.components[component.name];
  try {
    network = proposal.networks ? proposal.networks->describe(*proposal.catalogue, component)
                                : described_network(*proposal.catalogue, component);
  } catch (const InvalidRequest& thrown) {
    network = nullptr;
    proposal.refused_components[component.name] = thrown.findings();
  }
}

}  // namespace omnirt::validation
