// What a request says in words that are nearly right.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

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

}  // namespace

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
