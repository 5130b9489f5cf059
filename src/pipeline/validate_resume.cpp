// A run that carries on from a state, and one that stops to leave one. The state brings the request
// that it was made with; what the request at hand says beside it must agree.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "pipeline/fingerprint.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/model_search.hpp"
#include "pipeline/run_keys.hpp"
#include "pipeline/validate.hpp"

namespace omnirt::validation {
namespace fs = std::filesystem;
namespace {

constexpr const char* another_request = "omit it, or make the state again with this request";

std::string text_of(const Json& config, const char* key) {
  auto it = config.find(key);
  return it != config.end() && it->is_string() ? it->get<std::string>() : "";
}

const Json& part_of(const Json& record, const char* field) {
  static const Json nothing = Json::object();
  auto it = record.find(field);
  return it != record.end() && it->is_object() ? *it : nothing;
}

// Fields that are given beside a state must be those that it was made with.
void take_or_compare(Proposal& proposal, const char* field, Json& given, const Json& recorded) {
  if (given.empty()) {
    given = recorded;
  } else if (given != recorded) {
    proposal.error({field, shown(given), fmt::format("the state was made with {}", shown(recorded)),
                    another_request});
  }
}

// A folder that is named is where to look for the state's model; an id must be that model.
void take_model(Proposal& proposal, const SavedRun& run) {
  GenerateRequest& request = proposal.request;
  std::string id = text_of(run.record, "model");
  bool is_id = proposal.catalogue->find_entry(request.model, "") != nullptr;
  if (request.model.empty()) {
    std::error_code error;
    if (!request.config.contains(keys::model_path.name) && fs::exists(run.model_path, error))
      request.config[keys::model_path.name] = run.model_path;
  } else if (!is_id) {
    request.config[keys::model_path.name] = request.model;
  } else if (request.model != id && proposal.catalogue->find_entry(request.model, "") !=
                                        proposal.catalogue->find_entry(id, "")) {
    proposal.error({"model", request.model, fmt::format("the state is of model '{}'", id),
                    "name that model, or omit it"});
  }
  request.model = id;
}

void compare_input(Proposal& proposal, const SavedRun& run, const std::string& name,
                   const Json& given) {
  const Json& recorded = part_of(run.record, "inputs");
  auto it = recorded.find(name);
  if (it != recorded.end() && *it == given) return;
  auto digest = run.files.find(name);
  std::error_code error;
  if (digest != run.files.end() && given.is_string() &&
      fs::is_regular_file(given.get<std::string>(), error) &&
      fingerprint_of_file(given.get<std::string>()) == digest->second)
    return;
  proposal.error({"inputs." + name, shown(given),
                  it == recorded.end() ? "the state was made without it"
                                       : fmt::format("the state was made with {}", shown(*it)),
                  another_request});
}

// Components whose files are not here stand with the config that they had; only those that the part
// needs must be here.
void fill_components(Proposal& proposal) {
  for (const auto& [name, saved] : proposal.resumed->components) {
    if (proposal.folder.find(name)) continue;
    ComponentFolder absent;
    absent.name = name;
    absent.class_name = saved.class_name;
    absent.config = saved.config;
    proposal.absent.insert(name);
    proposal.folder.components.emplace(name, std::move(absent));
  }
}

void compare_components(Proposal& proposal) {
  for (const auto& [name, saved] : proposal.resumed->components) {
    const ComponentFolder* here = proposal.folder.find(name);
    if (!here || proposal.absent.contains(name) || saved.fingerprint.empty()) continue;
    std::string found = fingerprint_of(*proposal.catalogue, *here);
    if (found.empty() || found == saved.fingerprint) continue;
    proposal.error(
        {"config.resume", text_of(proposal.request.config, keys::resume.name),
         fmt::format("made with another model: its component '{}' differs from that in {}", name,
                     here->folder.string()),
         "name the model that the state was made with"});
  }
}

std::vector<std::string> names_of(const Plan& plan) {
  std::vector<std::string> names;
  for (const auto& block : plan.blocks) names.push_back(block->name());
  return names;
}

void refuse_state(Proposal& proposal, std::string why) {
  proposal.error({"config.resume", text_of(proposal.request.config, keys::resume.name),
                  std::move(why), "make the state again with this program and this request"});
}

// Brings the state's values back, each checked against the port that reads it.
class Restorer {
 public:
  Restorer(Proposal& proposal, size_t cut)
      : proposal_(proposal),
        needed_(values_across(proposal.plan, cut, proposal.guider->conditions())) {}

  void restore() {
    for (const SavedRun::Value& value : proposal_.resumed->values) take(value);
    for (const auto& [name, port] : needed_) {
      bool wanted = port->kind == PortInfo::Kind::input || port->kind == PortInfo::Kind::inout;
      if (wanted && port->name == name) require(name);
    }
  }

 private:
  void take(const SavedRun::Value& value) {
    auto needed = needed_.find(value.name);
    std::string type =
        needed == needed_.end() || !needed->second->codec ? "" : needed->second->codec->type;
    if (type != value.type) {
      return refuse_state(proposal_, fmt::format("it holds '{}' ({}), which no later block reads",
                                                 value.name, value.type));
    }
    try {
      std::any loaded = needed->second->codec->load(value.saved, *proposal_.catalogue);
      check_rank(*needed->second, loaded);
      note_size(value.name, loaded);
      proposal_.restored[value.condition][value.name] = std::move(loaded);
    } catch (const InvalidRequest& thrown) {
      refuse_state(proposal_, fmt::format("its value '{}': {}", value.name,
                                          thrown.findings().front().message));
    }
  }

  // Later blocks may look at a picture's size.
  void note_size(const std::string& name, const std::any& value) {
    std::string path = text_of(proposal_.request.inputs, name.c_str());
    auto noted = [&](const io::Image& image) {
      return ImageInput{path, {io::ImageFormat::png, image.width, image.height, image.channels}};
    };
    if (const auto* image = std::any_cast<io::Image>(&value)) {
      proposal_.images[name] = noted(*image);
    } else if (const auto* list = std::any_cast<std::vector<io::Image>>(&value)) {
      for (const io::Image& each : *list) proposal_.image_lists[name].push_back(noted(each));
    }
  }

  // As many dimensions as a port of the plan that hands the value on says; videos' latents have one
  // more than the pictures' that a shared block speaks of.
  void check_rank(const PortInfo& read, const std::any& value) const {
    const auto* tensor = std::any_cast<Tensor>(&value);
    if (!tensor || !tensor->defined() || read.shape.empty()) return;
    for (const auto& block : proposal_.plan.blocks) {
      for (const PortInfo& port : block->ports()) {
        if (port.name == read.name && static_cast<int64_t>(port.shape.size()) == tensor->dim())
          return;
      }
    }
    SavedValue::refuse(
        fmt::format("of {} dimensions, where {} are expected", tensor->dim(), read.shape.size()));
  }

  // Shared, or there for each condition.
  void require(const std::string& name) {
    if (proposal_.restored[""].contains(name) || proposal_.texts.contains(name)) return;
    std::vector<Condition> all = proposal_.guider->conditions();
    for (const Condition& condition : all) {
      if (proposal_.restored[first_of_inputs(all, condition).name].contains(name)) continue;
      return refuse_state(proposal_, fmt::format("its value '{}' is missing", name));
    }
  }

  Proposal& proposal_;
  std::map<std::string, const PortInfo*> needed_;
};

// What says how a run is run, and where its files go, and not what it makes.
bool about_the_run(const std::string& key) {
  for (const KeyInfo* each : keys::about_the_run()) {
    if (key == each->name) return true;
  }
  return false;
}

void check_stop(Proposal& proposal, const std::string& after, const std::string& file) {
  if (file.empty()) {
    proposal.error({"config.state", "", "stop_after needs a file to leave the state in",
                    "add --state FILE.safetensors"});
  }
  proposal.part.end = cut_after(proposal.plan, after);
  if (proposal.part.end <= proposal.part.first) {
    proposal.error(
        {"config.stop_after", after,
         fmt::format("the state carries on behind it, after {}", proposal.resumed->after),
         "name a later block"});
    return;
  }
  proposal.across = values_across(proposal.plan, proposal.part.end, proposal.guider->conditions());
  for (const auto& [name, port] : proposal.across) {
    if (port->codec) continue;
    proposal.error({"config.stop_after", after,
                    fmt::format("'{}' would cross the cut, and its type ({}) has no codec", name,
                                port->type.name()),
                    "give the type a ValueCodec (docs/blocks.md), or cut elsewhere"});
  }
}

}  // namespace

Json given_when_saved(const Proposal& proposal) {
  Json given = Json::object();
  if (!proposal.resumed) return given;
  for (const auto& [name, value] : part_of(proposal.resumed->record, "config").items()) {
    auto origin = proposal.resumed->origins.find(name);
    if (origin == proposal.resumed->origins.end()) continue;
    if (origin->second == "user" || origin->second == "model" || origin->second == "preset")
      given[name] = value;
  }
  return given;
}

void settle_resume(Proposal& proposal) {
  std::string file = text_of(proposal.request.config, keys::resume.name);
  if (file.empty()) return;
  auto run = std::make_shared<SavedRun>(read_saved_run(file));
  proposal.resumed = run;
  if (run->version != saved_run_version()) {
    proposal.error(
        {"config.resume", file,
         fmt::format("made by {}; this program is {}", run->version, saved_run_version()),
         "make the state again, or carry on with the program that made it"});
    return;
  }
  GenerateRequest& request = proposal.request;
  take_model(proposal, *run);
  std::string task = text_of(run->record, "task");
  if (!request.task.empty() && request.task != task) {
    proposal.error(
        {"task", request.task, fmt::format("the state is of task {}", task), another_request});
  }
  request.task = task;
  for (const auto& [name, value] : request.inputs.items()) {
    if (!value.is_null()) compare_input(proposal, *run, name, value);
  }
  request.inputs = part_of(run->record, "inputs");
  take_or_compare(proposal, "guider", request.guider, part_of(run->record, "guider"));
  const Json recorded_adapters =
      run->record.contains("adapters") ? run->record["adapters"] : Json::array();
  take_or_compare(proposal, "adapters", request.adapters, recorded_adapters);
  Json components = part_of(run->record, "components");
  std::error_code error;
  for (const auto& [name, value] : components.items()) {
    bool here = value.is_string() && fs::exists(value.get<std::string>(), error);
    if (here && !request.components.contains(name)) request.components[name] = value;
  }
}

void settle_resumed_components(Proposal& proposal) {
  if (!proposal.resumed) return;
  fill_components(proposal);
  compare_components(proposal);
}

void settle_part(Proposal& proposal) {
  proposal.part = {0, proposal.plan.blocks.size()};
  const Json& config = proposal.request.config;
  std::string after = text_of(config, keys::stop_after.name),
              file = text_of(config, keys::state.name);
  if (proposal.resumed) {
    std::vector<std::string> names = names_of(proposal.plan);
    auto place = std::ranges::find(names, proposal.resumed->after);
    if (names != proposal.resumed->workflow || place == names.end() || place + 1 == names.end()) {
      refuse_state(proposal, fmt::format("made by another list of blocks ({})",
                                         fmt::join(proposal.resumed->workflow, " > ")));
      return;
    }
    proposal.part.first = static_cast<size_t>(place - names.begin()) + 1;
  }
  if (!after.empty()) {
    check_stop(proposal, after, file);
  } else if (!file.empty()) {
    proposal.error({"config.state", file, "has no effect without stop_after",
                    "add --stop-after BLOCK, or remove it"});
  }
  keep_components_of(proposal.plan, proposal.part, proposal.guider->conditions());
}

void restore_values(Proposal& proposal) {
  if (proposal.resumed && proposal.ok()) Restorer(proposal, proposal.part.first).restore();
}

void compare_record(Proposal& proposal) {
  if (!proposal.resumed || !proposal.ok()) return;
  const Json now = proposal.record();
  const Json &before = part_of(proposal.resumed->record, "config"),
             &config = part_of(now, "config");
  for (const auto& [key, value] : config.items()) {
    auto was = before.find(key);
    if (about_the_run(key) || (was != before.end() && *was == value)) continue;
    proposal.error(
        {"config." + key, shown(value),
         fmt::format("the state was made with {}", was == before.end() ? "none" : shown(*was)),
         another_request});
  }
  for (const auto& [key, value] : before.items()) {
    if (!about_the_run(key) && !config.contains(key)) {
      proposal.error({"config." + key, "", fmt::format("the state was made with {}", shown(value)),
                      another_request});
    }
  }
}

}  // namespace omnirt::validation

namespace omnirt {
namespace {

// What a file holds that the request names, to be known again under another name.
void add_file(SavedRun& run, const std::string& input, const std::filesystem::path& path) {
  std::error_code error;
  if (!run.files.contains(input) && std::filesystem::is_regular_file(path, error))
    run.files[input] = fingerprint_of_file(path);
}

}  // namespace

SavedRun begin_saved_run(const Proposal& proposal) {
  SavedRun run;
  run.version = saved_run_version();
  run.record = proposal.record();
  for (const auto& [name, value] : proposal.config.all())
    run.origins[name] = to_string(value.origin);
  run.model_path = proposal.folder.path.string();
  for (const auto& block : proposal.plan.blocks) run.workflow.push_back(block->name());
  run.after = proposal.plan.blocks[proposal.part.end - 1]->name();
  if (proposal.resumed) {
    run.components = proposal.resumed->components;
    run.files = proposal.resumed->files;
    run.origins = proposal.resumed->origins;
  }
  for (const auto& [name, component] : proposal.folder.components) {
    if (proposal.absent.contains(name)) continue;
    run.components[name] = {component.class_name, fingerprint_of(*proposal.catalogue, component),
                            component.config};
  }
  for (const auto& [name, image] : proposal.images) add_file(run, name, image.path);
  for (const auto& [name, file] : proposal.latents) add_file(run, name, file.path);
  return run;
}

}  // namespace omnirt
