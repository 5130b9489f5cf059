#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>

#include "cli/commands.hpp"
#include "cli/say.hpp"

namespace omnirt::cli {
namespace {

struct ModelsFlags {
  std::string id;
  std::string format = "text";
  std::string task, graph;
  bool workflows = false, blocks = false, json = false;
};

std::string joined(const Json& list) {
  std::vector<std::string> items;
  for (const Json& item : list)
    items.push_back(item.is_string() ? item.get<std::string>() : item.dump());
  return fmt::format("{}", fmt::join(items, ", "));
}

bool is_alias(const Json& entry) {
  return entry.contains("alias_of");
}

std::string field(const Json& entry, const char* name) {
  return entry[name].get<std::string>();
}

// Alias -> what it means: the list has an alias once per task.
std::map<std::string, std::string> aliases_of(const Json& entries) {
  std::map<std::string, std::string> aliases;
  for (const Json& entry : entries) {
    if (is_alias(entry)) aliases[field(entry, "id")] = field(entry, "alias_of");
  }
  return aliases;
}

// A model's entries of all tasks as one row.
struct Row {
  std::string id, tasks, summary;
  bool here = false;
};

std::vector<Row> rows_of(const Json& entries) {
  std::vector<Row> rows;
  for (const Json& entry : entries) {
    if (is_alias(entry)) continue;
    auto row = std::ranges::find(rows, field(entry, "id"), &Row::id);
    if (row == rows.end()) {
      rows.push_back({field(entry, "id"), field(entry, "task"), field(entry, "summary"),
                      !field(entry, "found_at").empty()});
    } else {
      row->tasks += ", " + field(entry, "task");
    }
  }
  std::ranges::stable_sort(rows, [](const Row& a, const Row& b) { return a.here && !b.here; });
  return rows;
}

// What is on this machine comes first.
void print_entries(const Json& entries, const Json& found) {
  say("{:<24} {:<9} {:<36} {}\n", "model", "", "tasks", "summary");
  for (const Row& row : rows_of(entries))
    say("{:<24} {:<9} {:<36} {}\n", row.id, row.here ? "here" : "not here", row.tasks, row.summary);
  if (!found.empty()) say("\nalso here\n");
  for (const Json& each : found) say("{:<24} {}\n", field(each, "name"), field(each, "path"));
  say("\naliases\n");
  for (const auto& [alias, id] : aliases_of(entries)) say("{:<24} {}\n", alias, id);
}

void print_markdown(const Json& entries) {
  say("| model | task | maturity | inputs | memory, about | summary "
      "|\n|---|---|---|---|---|---|\n");
  for (const Json& entry : entries) {
    if (is_alias(entry)) continue;
    say("| {} | {} | {} | {} (optional: {}) | {} GB | {} |\n", field(entry, "id"),
        field(entry, "task"), field(entry, "maturity"), joined(entry["required_inputs"]),
        joined(entry["optional_inputs"]), entry["resource_hint"]["min_ram_gb"].get<double>(),
        field(entry, "summary"));
  }
  say("\n## Aliases\n\n| alias | stands for |\n|---|---|\n");
  for (const auto& [alias, id] : aliases_of(entries)) say("| {} | {} |\n", alias, id);
}

// What a model that was made to draw some things only was made to draw.
void print_things(const Json& things) {
  if (!things.empty()) say("draws {} things: {}\n", things.size(), joined(things));
}

void print_model(const Json& model, bool workflows) {
  for (const Json& task : model["tasks"]) {
    say("{} {}: {}\n", field(model, "id"), field(task, "task"), field(task, "summary"));
    for (const char* name : {"maturity", "default_backend", "found_at", "example"}) {
      say("  {:<22} {}\n", name, field(task, name));
    }
    for (const char* name : {"required_inputs", "optional_inputs", "supported_schedulers",
                             "adapter_kinds", "supported_config"}) {
      say("  {:<22} {}\n", name, joined(task[name]));
    }
    say("  {:<22} {}\n", "default_config", task["default_config"].dump());
    for (const auto& [component, config] : task["default_config_with"].items())
      say("  {:<22} {}\n", "with " + component, config.dump());
    say("  {:<22} {} GB of RAM, {} GB of a device's\n", "memory, about",
        task["resource_hint"]["min_ram_gb"].get<double>(),
        task["resource_hint"]["min_vram_gb"].get<double>());
    if (!workflows) continue;
    say("  workflow\n");
    for (const Json& block : task["workflow"]) {
      std::string trigger = field(block, "trigger");
      say("    {:<20} {:<28} {}\n", field(block, "stage"), field(block, "name"),
          trigger.empty() ? "" : "when " + trigger);
    }
  }
}

// "prompt_embeds  tensor {B, T, D}".
std::string signature(const Json& port) {
  std::string text = field(port, "name");
  if (port["kind"] == "config") return fmt::format("{} [{}]", text, port["default"].dump());
  if (!port["type"].is_string()) return text;
  text += "  " + field(port, "type");
  return port["shape"].empty() ? text : fmt::format("{} {{{}}}", text, joined(port["shape"]));
}

// The parts of `text` between `word`s outside brackets.
std::vector<std::string> split_outside(const std::string& text, std::string_view word) {
  std::vector<std::string> parts;
  int depth = 0;
  size_t from = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += (text[i] == '(') - (text[i] == ')');
    if (depth > 0 || text.compare(i, word.size(), word) != 0) continue;
    parts.push_back(text.substr(from, i - from));
    from = i + word.size();
  }
  parts.push_back(text.substr(from));
  return parts;
}

bool is_one_group(const std::string& text) {
  int depth = 0;
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    depth += (text[i] == '(') - (text[i] == ')');
    if (depth == 0) return false;
  }
  return text.starts_with("(") && text.ends_with(")");
}

// A trigger's expression in lines: a long one as a list of what must hold, or of what is enough.
void add_condition_lines(const std::string& text, size_t indent, std::vector<std::string>& lines) {
  constexpr size_t longest = 88;
  const bool negated = text.starts_with("not ") && is_one_group(text.substr(4));
  std::string inner = negated ? text.substr(4) : text;
  if (is_one_group(inner)) inner = inner.substr(1, inner.size() - 2);
  auto parts = split_outside(inner, " or ");
  const bool any = parts.size() > 1;
  if (!any) parts = split_outside(inner, " and ");
  if (indent + text.size() <= longest || parts.size() < 2) {
    lines.push_back(std::string(indent, ' ') + text);
    return;
  }
  lines.push_back(
      fmt::format("{:{}}{}", "", indent,
                  any ? (negated ? "none of" : "any of") : (negated ? "not all of" : "all of")));
  for (const std::string& part : parts) add_condition_lines(part, indent + 2, lines);
}

void print_condition(const std::string& trigger) {
  std::vector<std::string> lines;
  add_condition_lines(trigger, 0, lines);
  for (size_t i = 0; i < lines.size(); ++i) say("  {:<9} {}\n", i == 0 ? "when" : "", lines[i]);
}

void print_block(const Json& block) {
  say("{} ({})\n", field(block, "name"), field(block, "stage"));
  if (!block["tasks"].empty()) say("  {:<9} {}\n", "tasks", joined(block["tasks"]));
  if (std::string trigger = field(block, "trigger"); !trigger.empty()) print_condition(trigger);
  if (block["guidance"] == "per_condition")
    say("  {:<9} once for each condition of the guider\n", "runs");
  if (!block["runs"].empty()) say("  {:<9} {}\n", "runs", joined(block["runs"]));
  for (auto [kind, name] : {std::pair{"component", "uses"},
                            {"config", "config"},
                            {"input", "in"},
                            {"optional_input", "in?"},
                            {"inout", "in, out"},
                            {"output", "out"}}) {
    for (const Json& port : block["ports"]) {
      if (port["kind"] != kind) continue;
      std::string words =
          kind == std::string_view("component") ? field(port, "name") : signature(port);
      say("  {:<9} {:<44} {}\n", name, words, field(port, "help"));
    }
  }
}

void need_id(const ModelsFlags& flags, const char* flag) {
  if (!flags.id.empty()) return;
  throw InvalidRequest({flag, "", "tells of one model", "name it: omnirt models ID"});
}

int blocks(const ModelsFlags& flags, const Session& session) {
  need_id(flags, "--blocks");
  Json document = session.blocks(flags.id, flags.task);
  if (flags.format == "json") {
    say_json(document);
    return 0;
  }
  for (const Json& block : document["blocks"]) print_block(block);
  return 0;
}

// The entries of the task that was asked for.
Json of_task(const ModelsFlags& flags, const Json& entries) {
  if (flags.task.empty()) return entries;
  Json found = Json::array();
  std::vector<std::string> tasks;
  for (const Json& entry : entries) {
    std::string task = field(entry, "task");
    if (task == flags.task) found.push_back(entry);
    if (std::ranges::find(tasks, task) == tasks.end()) tasks.push_back(task);
  }
  if (found.empty()) {
    throw InvalidRequest({"--task", flags.task,
                          flags.id.empty() ? "no model does it" : flags.id + " does not do it",
                          fmt::format("give one of {}", fmt::join(tasks, ", "))});
  }
  return found;
}

Json described(const ModelsFlags& flags, const Session& session) {
  if (flags.id.empty()) return of_task(flags, session.models());
  Json model = session.model(flags.id);
  model["tasks"] = of_task(flags, model["tasks"]);
  return model;
}

int models(const ModelsFlags& flags, const Session& session) {
  if (!flags.graph.empty()) {
    need_id(flags, "--graph");
    say_lines(session.graph(flags.id, flags.task, flags.graph));
    return 0;
  }
  if (flags.blocks) return blocks(flags, session);
  Json document = described(flags, session);
  if (flags.format == "json") {
    say_json(document);
  } else if (flags.id.empty()) {
    if (flags.format == "markdown")
      print_markdown(document);
    else
      print_entries(document, session.models_here());
  } else if (flags.format == "markdown") {
    print_markdown(document["tasks"]);
  } else {
    print_model(document, flags.workflows);
    print_things(document["things"]);
  }
  return 0;
}

}  // namespace

void add_models(CLI::App& app, Run& run, Session& session) {
  auto flags = std::make_shared<ModelsFlags>();
  CLI::App* command =
      app.add_subcommand("models", "list the models, those on this machine first, or describe one");
  command->add_option("id", flags->id, "a model: its id, folder or file");
  command->add_option("--format", flags->format, "how to print it")
      ->check(CLI::IsMember({"text", "json", "markdown"}).description(""))
      ->type_name("text|json|markdown");
  command->add_flag("--workflows", flags->workflows, "the blocks of each task");
  command->add_flag("--json", flags->json, "the same as --format json");
  command->add_flag("--blocks", flags->blocks,
                    "the model's blocks with their ports, components, config keys and triggers");
  command->add_option("--graph", flags->graph, "the same drawn, on standard output")
      ->check(CLI::IsMember({"svg", "dot", "mermaid"}).description(""))
      ->type_name("svg|dot|mermaid");
  command->add_option("--task", flags->task, "of this task alone")->type_name("TASK");
  command->callback([flags, &run, &session] {
    if (flags->json) flags->format = "json";
    run = [flags, &session] { return models(*flags, session); };
  });
}

}  // namespace omnirt::cli
