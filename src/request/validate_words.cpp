// What a request says in words that are nearly right.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>

#include "base/nearest.hpp"
#include "pipeline/keys.hpp"
#include "request/other_words.hpp"
#include "request/validate.hpp"

namespace omnirt::validation {
namespace {

// Of a task, the inputs that are not there; nothing where it does not take all that are.
std::optional<std::vector<std::string>> missing_of(const TaskInputs& task,
                                                   const std::set<std::string>& present) {
  if (!std::ranges::includes(task.inputs, present)) return std::nullopt;
  std::vector<std::string> missing;
  std::ranges::set_difference(task.inputs, present, std::back_inserter(missing));
  return missing;
}

// Things that are missing together.
using Missing = std::vector<TriggerPart>;

// Whether it is a further one of several that are numbered, controlnet_1 next to controlnet.
bool is_further(const std::string& name, const std::vector<Missing>& all) {
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  if (digits < 2 || digits == name.size() || name[digits - 1] != '_') return false;
  const std::string first = name.substr(0, digits - 1);
  return std::ranges::any_of(all, [&](const Missing& missing) {
    return std::ranges::any_of(missing,
                               [&](const TriggerPart& part) { return part.name == first; });
  });
}

void add(std::vector<Missing>& all, Missing missing) {
  std::ranges::sort(missing, {}, &TriggerPart::name);
  if (std::ranges::find(all, missing) == all.end()) all.push_back(std::move(missing));
}

// By which single things that the request does not have a block would take part; else by which two.
void add_missing(const Trigger& trigger, const Facts& facts, std::vector<Missing>& all) {
  const auto singles = trigger.missing(facts);
  for (const TriggerPart& part : singles) add(all, {part});
  if (!singles.empty()) return;
  for (const TriggerPart& part : trigger.parts()) {
    Facts with = facts;
    part.add_to(with);
    for (const TriggerPart& other : trigger.missing(with)) add(all, {part, other});
  }
}

// Whether some task of the family takes the request's inputs with those that are missing.
bool is_task(const Proposal& proposal, const Missing& missing) {
  std::set<std::string> given = proposal.facts.inputs, telling, present;
  for (const TriggerPart& part : missing) {
    if (part.kind == TriggerPart::Kind::input) given.insert(part.name);
  }
  for (const TaskInputs& task : proposal.family->tasks)
    telling.insert(task.inputs.begin(), task.inputs.end());
  std::ranges::set_intersection(telling, given, std::inserter(present, present.end()));
  return std::ranges::any_of(proposal.family->tasks,
                             [&](const TaskInputs& task) { return task.inputs == present; });
}

// By what some block with this key would take part, the least of it.
std::vector<Missing> missing_for(const Proposal& proposal, const std::string& key) {
  std::vector<Missing> all;
  for (const auto& block : proposal.family->blocks) {
    bool has_key = std::ranges::any_of(
        block->ports(), [&](const PortInfo& port) { return port.key && port.name == key; });
    if (has_key) add_missing(block->trigger(), proposal.facts, all);
  }
  std::erase_if(all, [&](const Missing& missing) { return !is_task(proposal, missing); });
  const auto least = std::ranges::min_element(all, {}, &Missing::size);
  const size_t size = least == all.end() ? 0 : least->size();
  const std::vector<Missing> found = all;
  std::erase_if(all, [&](const Missing& missing) {
    return missing.size() > size || is_further(missing.front().name, found);
  });
  return all;
}

// The families, except the request's own, that have the key.
std::vector<std::string> families_with(const Proposal& proposal, const std::string& key) {
  std::vector<std::string> names;
  for (const Family& family : proposal.catalogue->families) {
    bool has_key = std::ranges::any_of(family.blocks, [&](const auto& block) {
      return std::ranges::any_of(
          block->ports(), [&](const PortInfo& port) { return port.key && port.name == key; });
    });
    if (has_key && &family != proposal.family) names.push_back(family.name);
  }
  return names;
}

// Whether the family's blocks read this of a request, and make it nowhere.
bool reads(const Family& family, const std::string& input, const Facts* facts = nullptr) {
  bool read = false;
  for (const auto& block : family.blocks) {
    for (const PortInfo& port : block->ports()) {
      if (port.name != input || !is_request_type(port.type)) continue;
      if (port.kind == PortInfo::Kind::output) return false;
      bool reader = port.kind != PortInfo::Kind::described;
      read = read || (reader && (!facts || block->trigger()(*facts)));
    }
  }
  return read;
}

// The tasks of the request's family that take an input.
std::vector<std::string> tasks_with(const Proposal& proposal, const std::string& input) {
  std::vector<std::string> names;
  for (const TaskInputs& task : proposal.family->tasks) {
    Facts facts = proposal.facts;
    facts.inputs = task.inputs;
    facts.inputs.insert(input);
    facts.task = task.task;
    bool known = std::ranges::find(names, task.task) != names.end();
    if (!known && reads(*proposal.family, input, &facts)) names.push_back(task.task);
  }
  return names;
}

// What to do about a key that is none of `known` and has no other name here.
std::string instead_of_key(const Proposal& proposal, const std::string& name,
                           const std::vector<std::string>& known) {
  const OtherWord* other = find_other_word(name);
  if (other && other->meaning == OtherWord::Meaning::none) return std::string(other->note);
  const std::string& id = proposal.spec->id;
  if (const auto families = families_with(proposal, name); !families.empty())
    return fmt::format("it is a key of {} models, and {} is none", fmt::join(families, ", "), id);
  const std::string nearest = nearest_name(name, known);
  return nearest.empty() ? fmt::format("`omnirt models {}` lists those that it takes", id)
                         : fmt::format("did you mean '{}'?", nearest);
}

constexpr const char* hires_upscaler = "hires_upscaler";

// The names that some family's key of this name takes.
std::vector<std::string> names_of(const Catalogue& catalogue, const std::string& key) {
  for (const Family& family : catalogue.families) {
    for (const auto& block : family.blocks) {
      for (const PortInfo& port : block->ports()) {
        if (port.key && port.name == key) return port.key->choice_list();
      }
    }
  }
  return {};
}

// "Latent (nearest-exact)", as in A1111, is "latent-nearest-exact".
std::string plain_name(const std::string& given) {
  std::string name;
  for (char c : given) {
    if (c == '(' || c == ')') continue;
    name +=
        c == ' ' || c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

}  // namespace

void settle_hires_upscaler(Proposal& proposal) {
  GenerateRequest& request = proposal.request;
  auto given = request.config.find(hires_upscaler);
  if (given == request.config.end() || !given->is_string()) return;
  const auto names = names_of(*proposal.catalogue, hires_upscaler);
  const std::string value = *given, name = plain_name(value);
  if (std::ranges::find(names, name) != names.end()) {
    *given = name;
    return;
  }
  const std::string field = std::string("components.") + hires_upscaler;
  if (request.components.contains(hires_upscaler)) {
    proposal.error({std::string("config.") + hires_upscaler, value,
                    fmt::format("given together with {}", field), "give one of them"});
    return;
  }
  request.components[hires_upscaler] = value;
  request.config.erase(given);
  if (request.said_beside.contains(std::string("config.") + hires_upscaler)) request.say(field);
}

void settle_seed(Proposal& proposal) {
  Json& config = proposal.request.config;
  auto seed = config.find(keys::seed.name);
  if (seed != config.end() && (*seed == "random" || *seed == -1)) config.erase(seed);
}

void unknown_key(Proposal& proposal, const std::vector<const KeyInfo*>& known,
                 const std::string& where, const std::string& name, const Json& given) {
  std::vector<std::string> names;
  std::string meant = field_meant("config", name);
  for (const KeyInfo* key : known) {
    names.emplace_back(key->name);
    if (key->flag == name || key->flag_name() == name) meant = std::string("config.") + key->name;
  }
  if (!meant.empty()) {
    proposal.error(
        {where + name, shown(given), "unknown config key", "did you mean " + meant + "?"});
    return;
  }
  proposal.warn({where + name, shown(given), "unknown config key, ignored",
                 instead_of_key(proposal, name, names)});
}

void unknown_input(Proposal& proposal, const std::vector<std::string>& known,
                   const std::string& name, const Json& given) {
  std::string meant = field_meant("inputs", name), instead = suggest(name, known);
  std::vector<std::string> families;
  for (const Family& family : proposal.catalogue->families)
    if (reads(family, name)) families.push_back(family.name);
  if (!meant.empty())
    instead = "did you mean " + meant + "?";
  else if (const auto tasks = tasks_with(proposal, name); !tasks.empty())
    instead = fmt::format("remove it; this model takes it for {}", fmt::join(tasks, ", "));
  else if (!families.empty())
    instead = fmt::format("remove it; it is an input of {} models", fmt::join(families, ", "));
  proposal.error({"inputs." + name, shown(given),
                  fmt::format("task {} has no such input", proposal.task), instead});
}

void key_without_effect(Proposal& proposal, const std::string& where, const std::string& name,
                        const Json& given) {
  std::vector<Missing> missing = missing_for(proposal, name);
  if (missing.empty()) {
    proposal.warn({where + name, shown(given),
                   fmt::format("has no effect on task {}", proposal.task), "remove it"});
    return;
  }
  std::vector<std::string> names, fields;
  for (const Missing& together : missing) {
    std::vector<std::string> each_name, each_field;
    for (const TriggerPart& part : together) {
      bool choice = part.kind == TriggerPart::Kind::choice && part.value.is_string();
      const std::string value = choice ? part.value.get<std::string>() : "";
      each_name.push_back(part.name + (choice ? " " + value : ""));
      each_field.push_back(part.field() + (choice ? "=" + value : ""));
    }
    names.push_back(fmt::format("{}", fmt::join(each_name, " and ")));
    fields.push_back(fmt::format("{}", fmt::join(each_field, " and ")));
  }
  proposal.warn({where + name, shown(given),
                 fmt::format("has no effect without {}", fmt::join(names, " or ")),
                 fmt::format("add {}, or remove it", fmt::join(fields, " or "))});
}

void refuse_inputs(Proposal& proposal, const std::set<std::string>& present) {
  std::vector<std::string> tasks, ways;
  for (const TaskInputs& task : proposal.family->tasks) {
    if (std::ranges::find(tasks, task.task) == tasks.end()) tasks.push_back(task.task);
    auto missing = missing_of(task, present);
    if (!missing || missing->empty()) continue;
    std::string way;
    for (const std::string& input : *missing)
      way += (way.empty() ? "" : " and ") + ("inputs." + input);
    if (std::ranges::find(ways, way) == ways.end()) ways.push_back(way);
  }
  std::string given = fmt::format("{}", fmt::join(present, ", "));
  std::string way_out = fmt::format("its tasks: {}", fmt::join(tasks, ", "));
  if (!ways.empty()) way_out = fmt::format("add {}; {}", fmt::join(ways, ", or "), way_out);
  proposal.error({"inputs", given, "no task of this model takes just these", way_out});
}

}  // namespace omnirt::validation
