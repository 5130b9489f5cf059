// What a request says in words that are nearly right.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

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

// "Latent (nearest-exact)", as A1111 has it, is "latent-nearest-exact".
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
  proposal.warn({where + name, shown(given), "unknown config key, ignored", suggest(name, names)});
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
