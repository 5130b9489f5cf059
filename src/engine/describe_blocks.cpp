#include "engine/describe_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.hpp"
#include "engine/graph.hpp"
#include "guiders/classifier_free_guidance.hpp"
#include "pipeline/block_list.hpp"
#include "pipeline/component_networks.hpp"
#include "pipeline/plan.hpp"
#include "request/model_search.hpp"

namespace omnirt {
namespace {

const ModelSpec& entry_of(const Catalogue& catalogue, const std::string& id,
                          const std::string& task) {
  const ModelSpec* any = catalogue.find_entry(id, "");
  if (!any) throw UnknownModel({"model", id, "unknown model", suggest(id, catalogue.ids())});
  if (const ModelSpec* entry = catalogue.find_entry(id, task)) return *entry;
  throw InvalidRequest({"task", task, fmt::format("model '{}' does not do this task", id),
                        suggest(task, catalogue.tasks_of(any->id))});
}

// With the components of the model's own folder, where it is here.
Facts facts_of(const Catalogue& catalogue, const ModelSpec& entry) {
  Facts facts = usual_facts(catalogue, entry);
  std::filesystem::path path = find_model(entry.id, entry.hub_ids);
  if (path.empty() || !std::filesystem::is_directory(path)) return facts;
  for (const auto& [name, component] : open_pipeline_folder(path).components)
    facts.components[name] = described_network(catalogue, component);
  return facts;
}

Facts facts_of_task(Facts facts, const Family& family, const std::string& task) {
  auto usual = std::ranges::find(family.tasks, task, &TaskInputs::task);
  if (usual != family.tasks.end()) facts.inputs = usual->inputs;
  facts.task = task;
  return facts;
}

Json port_json(const PortInfo& port) {
  static const char* kinds[] = {"component", "config", "input",    "optional_input",
                                "output",    "inout",  "described"};
  Json json = {{"kind", kinds[static_cast<int>(port.kind)]}, {"name", port.name}};
  if (port.kind == PortInfo::Kind::config) {
    json["default"] = port.key->fallback_json();
    json["flag"] = "--" + port.key->flag_name();
  } else if (port.kind != PortInfo::Kind::component && port.kind != PortInfo::Kind::described) {
    json["type"] = port.codec ? Json(port.codec->type) : Json();
    json["shape"] = port.shape;
  }
  json["help"] = port.help;
  return json;
}

// Those that it takes part in, whichever of their inputs a request has.
Json tasks_of_block(const Family& family, Facts facts, const Block& block) {
  Json tasks = Json::array();
  for (const TaskInputs& each : family.tasks) {
    facts.inputs = each.inputs;
    facts.task = each.task;
    bool listed = std::ranges::find(tasks, Json(each.task)) != tasks.end();
    if (!listed && block.trigger()(facts)) tasks.push_back(each.task);
  }
  return tasks;
}

const char* name_of(Guidance guidance) {
  switch (guidance) {
    case Guidance::shared:
      return "shared";
    case Guidance::per_condition:
      return "per_condition";
    case Guidance::takes_over:
      return "takes_over";
  }
  return "";
}

}  // namespace

Json describe_blocks(const Catalogue& catalogue, const std::string& id, const std::string& task) {
  const ModelSpec& entry = entry_of(catalogue, id, task);
  const Family& family = *catalogue.family_of(entry);
  const Facts facts = facts_of(catalogue, entry), of_task = facts_of_task(facts, family, task);
  Json blocks = Json::array();
  for (const auto& [name, block] : all_blocks(family.blocks)) {
    if (!task.empty() && !block->trigger()(of_task)) continue;
    Json ports = Json::array();
    for (const PortInfo& port : block->ports()) {
      if (!port.adopted) ports.push_back(port_json(port));
    }
    for (const PortInfo& port : block->described()) ports.push_back(port_json(port));
    blocks.push_back({{"name", name},
                      {"stage", to_string(block->stage())},
                      {"guidance", name_of(block->guidance())},
                      {"trigger", block->trigger().text()},
                      {"tasks", tasks_of_block(family, facts, *block)},
                      {"ports", ports},
                      {"runs", block_names(block->inner())}});
  }
  return {{"id", entry.id}, {"family", family.name}, {"task", task}, {"blocks", blocks}};
}

std::string draw_blocks(const Catalogue& catalogue, const std::string& id, const std::string& task,
                        const std::string& format) {
  const ModelSpec& entry = entry_of(catalogue, id, task);
  const Family& family = *catalogue.family_of(entry);
  std::string title = task.empty() ? entry.id : fmt::format("{}: {}", entry.id, task);
  BlockGraph graph =
      make_graph(title, family.blocks, facts_of_task(facts_of(catalogue, entry), family, task),
                 ClassifierFreeGuidance({}).conditions(), task.empty());
  if (format == "dot") return to_dot(graph);
  if (format == "mermaid") return to_mermaid(graph);
  if (format == "svg") return to_svg(graph);
  throw InvalidRequest({"format", format, "no such way to draw", "svg, dot or mermaid"});
}

}  // namespace omnirt
