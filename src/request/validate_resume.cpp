// A run that continues from a state, and one that stops to leave one. The state brings the request
// that it was made with; what the present request says in addition must agree.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/path_text.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/run_keys.hpp"
#include "request/fingerprint.hpp"
#include "request/model_search.hpp"
#include "request/provenance.hpp"
#include "request/validate.hpp"

namespace omnirt::validation {
namespace fs = std::filesystem;
namespace {

constexpr const char* another_request = "omit it, or make the state again with this request";

bool is_among(const std::vector<const KeyInfo*>& keys, const std::string& name) {
  return std::ranges::any_of(keys, [&](const KeyInfo* key) { return name == key->name; });
}

std::string text_of(const Json& config, const char* key) {
  auto it = config.find(key);
  return it != config.end() && it->is_string() ? it->get<std::string>() : "";
}

const Json& part_of(const Json& record, const char* field) {
  static const Json nothing = Json::object();
  auto it = record.find(field);
  return it != record.end() && it->is_object() ? *it : nothing;
}

// Fields that are given with a state must be those that it was made with.
void take_or_compare(Proposal& proposal, const char* field, Json& given, const Json& recorded) {
  if (given.empty()) {
    given = recorded;
  } else if (given != recorded) {
    proposal.error({field, shown(given), fmt::format("the state was made with {}", shown(recorded)),
                    another_request});
  }
}

// A file that the state names, and not this request, is reported before it is read.
void warn_of_file(Proposal& proposal, const std::string& field, const std::string& path) {
  proposal.warn({field, path, "named by the state, and not by this request",
                 fmt::format("give {} too where the state comes from somebody else", field)});
}

// A folder that is named is where to look for the state's model; an id must be that model.
void take_model(Proposal& proposal, const SavedRun& run) {
  GenerateRequest& request = proposal.request;
  std::string said = text_of(run.record, "model");
  const ModelSpec* recorded = proposal.catalogue->find_entry(said, "");
  const ModelSpec* given = proposal.catalogue->find_entry(request.model, "");
  std::error_code error;
  if (request.model.empty()) {
    bool unsaid = !request.config.contains(keys::model_path.name);
    bool found = recorded && !find_model(recorded->id, recorded->hub_ids).empty();
    request.model = said;
    if (!unsaid || found) return;
    if (recorded && fs::exists(run.model_path, error)) {
      request.config[keys::model_path.name] = run.model_path;
      warn_of_file(proposal, "model", run.model_path);
    } else if (said.starts_with("/")) {
      warn_of_file(proposal, "model", said);
    }
  } else if (!given && recorded) {
    request.config[keys::model_path.name] = proposal.path_of("model", request.model);
    request.model = said;
  } else if (given && recorded && given != recorded) {
    proposal.error({"model", request.model, fmt::format("the state is of model '{}'", said),
                    "name that model, or omit it"});
  }
}

// The same texts, or files of the same name.
bool same_input(const Proposal& proposal, const std::string& field, const Json& recorded,
                const Json& given) {
  if (recorded == given) return true;
  if (recorded.is_string() && given.is_string())
    return recorded == proposal.request.path_of(field, given.get<std::string>());
  if (!recorded.is_array() || !given.is_array() || recorded.size() != given.size()) return false;
  for (size_t i = 0; i < given.size(); ++i) {
    if (!same_input(proposal, field, recorded[i], given[i])) return false;
  }
  return true;
}

void take_adapters(Proposal& proposal, const SavedRun& run) {
  Json recorded = Json::array();
  if (run.record.contains("adapters") && run.record["adapters"].is_array())
    recorded = run.record["adapters"];
  bool said = !proposal.request.adapters.empty();
  take_or_compare(proposal, "adapters", proposal.request.adapters, recorded);
  for (size_t i = 0; i < recorded.size() && !said; ++i)
    warn_of_file(proposal, fmt::format("adapters[{}]", i), text_of(recorded[i], "path"));
}

void compare_input(Proposal& proposal, const SavedRun& run, const std::string& name,
                   const Json& given) {
  const Json& recorded = part_of(run.record, "inputs");
  std::string field = "inputs." + name;
  auto it = recorded.find(name);
  if (it != recorded.end() && same_input(proposal, field, *it, given)) return;
  auto digest = run.files.find(name);
  std::error_code error;
  std::string path =
      given.is_string() ? proposal.request.path_of(field, given.get<std::string>()) : "";
  if (digest != run.files.end() && fs::is_regular_file(path, error) &&
      fingerprint_of_file(proposal.path_of(field, path)) == digest->second)
    return;
  proposal.error({field, shown(given),
                  it == recorded.end() ? "the state was made without it"
                                       : fmt::format("the state was made with {}", shown(*it)),
                  another_request});
}

// Components whose files are not here are listed with the config that they had; only those that the
// part needs must be here.
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
                     path_text(here->folder)),
         "name the model that the state was made with"});
  }
}

std::vector<std::string> names_of(const Plan& plan) {
  std::vector<std::string> names;
  for (const auto& block : plan.blocks) names.push_back(block->name());
  return names;
}

// What says how a run is run, and where its files go, and not what it makes.
bool about_the_run(const std::string& key) {
  return is_among(keys::about_the_run(), key);
}

void check_stop(Proposal& proposal, const std::string& after, const std::string& file) {
  if (file.empty()) {
    proposal.error({"config.state", "", "stop_after needs a file to leave the state in",
                    "set config.state=FILE.safetensors"});
  }
  proposal.part.end = cut_after(proposal.plan, after);
  if (proposal.part.end <= proposal.part.first) {
    proposal.error({"config.stop_after", after,
                    fmt::format("the state continues behind it, after {}", proposal.resumed->after),
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

void refuse_state(Proposal& proposal, std::string why) {
  proposal.error({"config.resume", text_of(proposal.request.config, keys::resume.name),
                  std::move(why), "make the state again with this program and this request"});
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
         "make the state again, or continue with the program that made it"});
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
  take_adapters(proposal, *run);
  Json components = part_of(run->record, "components");
  std::error_code error;
  for (const auto& [name, value] : components.items()) {
    bool here = value.is_string() && fs::exists(value.get<std::string>(), error);
    if (!here || request.components.contains(name)) continue;
    warn_of_file(proposal, "components." + name, value.get<std::string>());
    request.components[name] = value;
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
    proposal.error({"config.state", file, "a run that does not stop saves no state",
                    "set config.stop_after to a block, or remove it"});
  }
  keep_components_of(proposal.plan, proposal.part, proposal.guider->conditions());
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

SavedRun begin_saved_run(const Proposal& proposal) {
  SavedRun run;
  run.version = saved_run_version();
  run.record = proposal.record();
  for (const auto& [name, value] : run.record["config"].items()) {
    run.origins[name] = to_string(proposal.config.find(name)->origin);
    if (!proposal.resumed) continue;
    auto before = proposal.resumed->origins.find(name);
    if (before != proposal.resumed->origins.end()) run.origins[name] = before->second;
  }
  if (!proposal.request.location_of("model", proposal.model))
    run.model_path = proposal.folder.path.native();
  for (const auto& block : proposal.plan.blocks) run.workflow.push_back(block->name());
  run.after = proposal.plan.blocks[proposal.part.end - 1]->name();
  if (proposal.resumed) {
    run.components = proposal.resumed->components;
    run.files = proposal.resumed->files;
  }
  for (const auto& [name, component] : proposal.folder.components) {
    if (proposal.absent.contains(name)) continue;
    run.components[name] = {component.class_name, fingerprint_of(*proposal.catalogue, component),
                            component.config};
  }
  if (proposal.resumed) return run;
  for (const auto& [name, path] : input_files(proposal))
    run.files[name] = fingerprint_of_file(path);
  return run;
}

}  // namespace omnirt
