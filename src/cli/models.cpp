#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "cli/commands.hpp"

namespace omnirt::cli {
namespace {

struct ModelsFlags {
  std::string id;
  std::string format = "text";
  bool workflows = false;
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

void print_table(const Json& entries) {
  fmt::print("{:<24} {:<12} {:<12} {}\n", "model", "task", "maturity", "summary");
  for (const Json& entry : entries) {
    if (is_alias(entry)) continue;
    fmt::print("{:<24} {:<12} {:<12} {}\n", field(entry, "id"), field(entry, "task"),
               field(entry, "maturity"), field(entry, "summary"));
  }
  fmt::print("\naliases\n");
  for (const Json& entry : entries) {
    if (!is_alias(entry) || entry["task"] != "text2image") continue;
    fmt::print("{:<24} {}\n", field(entry, "id"), field(entry, "alias_of"));
  }
}

void print_markdown(const Json& entries) {
  fmt::print(
      "| model | task | maturity | inputs | least memory | summary |\n|---|---|---|---|---|---|\n");
  for (const Json& entry : entries) {
    if (is_alias(entry)) continue;
    fmt::print("| {} | {} | {} | {} (optional: {}) | {} GB | {} |\n", field(entry, "id"),
               field(entry, "task"), field(entry, "maturity"), joined(entry["required_inputs"]),
               joined(entry["optional_inputs"]), entry["resource_hint"]["min_ram_gb"].get<double>(),
               field(entry, "summary"));
  }
  fmt::print("\n## Aliases\n\n| alias | stands for |\n|---|---|\n");
  for (const Json& entry : entries) {
    if (is_alias(entry) && entry["task"] == "text2image") {
      fmt::print("| {} | {} |\n", field(entry, "id"), field(entry, "alias_of"));
    }
  }
}

void print_model(const Json& model, bool workflows) {
  for (const Json& task : model["tasks"]) {
    fmt::print("{} {}: {}\n", field(model, "id"), field(task, "task"), field(task, "summary"));
    for (const char* name : {"maturity", "default_backend", "found_at", "example"}) {
      fmt::print("  {:<22} {}\n", name, field(task, name));
    }
    for (const char* name :
         {"required_inputs", "optional_inputs", "supported_schedulers", "supported_config"}) {
      fmt::print("  {:<22} {}\n", name, joined(task[name]));
    }
    fmt::print("  {:<22} {}\n", "default_config", task["default_config"].dump());
    if (!workflows) continue;
    fmt::print("  workflow\n");
    for (const Json& block : task["workflow"]) {
      std::string trigger = field(block, "trigger");
      fmt::print("    {:<20} {:<28} {}\n", field(block, "stage"), field(block, "name"),
                 trigger.empty() ? "" : "when " + trigger);
    }
  }
}

int models(const ModelsFlags& flags, const Session& session) {
  Json document = flags.id.empty() ? session.models() : session.model(flags.id);
  if (flags.format == "json") {
    fmt::print("{}\n", document.dump(2));
  } else if (flags.id.empty()) {
    if (flags.format == "markdown")
      print_markdown(document);
    else
      print_table(document);
  } else if (flags.format == "markdown") {
    print_markdown(document["tasks"]);
  } else {
    print_model(document, flags.workflows);
  }
  return 0;
}

}  // namespace

void add_models(CLI::App& app, Run& run, Session& session) {
  auto flags = std::make_shared<ModelsFlags>();
  CLI::App* command = app.add_subcommand("models", "list the models, or tell of one");
  command->add_option("id", flags->id, "a model's id");
  command->add_option("--format", flags->format, "text, json or markdown")
      ->check(CLI::IsMember({"text", "json", "markdown"}));
  command->add_flag("--workflows", flags->workflows, "the blocks of each task");
  command->callback(
      [flags, &run, &session] { run = [flags, &session] { return models(*flags, session); }; });
}

}  // namespace omnirt::cli
