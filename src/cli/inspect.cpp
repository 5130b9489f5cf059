#include <fmt/format.h>

#include <memory>

#include "cli/commands.hpp"
#include "engine/session.hpp"

namespace omnirt::cli {
namespace {

struct InspectFlags {
  std::string path;
  bool json = false;
};

void print_weights(const Json& weights, const char* indent) {
  fmt::print("{}{} parameters in {} tensors, {:.1f} MB\n", indent,
             weights["parameters"].get<uint64_t>(), weights["tensors"].get<uint64_t>(),
             static_cast<double>(weights["bytes"].get<uint64_t>()) / 1e6);
  for (const auto& [dtype, count] : weights["parameters_by_dtype"].items()) {
    fmt::print("{}  {:<8} {}\n", indent, dtype, count.get<uint64_t>());
  }
  for (const Json& file : weights["files"]) fmt::print("{}  {}\n", indent, file.get<std::string>());
}

void print_component(const Json& component, const char* indent) {
  fmt::print("{}{}: {}\n", indent, component["name"].get<std::string>(),
             component["class"].get<std::string>());
  if (component.contains("weights")) print_weights(component["weights"], "    ");
  if (component.contains("weights_error"))
    fmt::print("    {}\n", component["weights_error"].get<std::string>());
}

int inspect_path(const InspectFlags& flags) {
  Json found = inspect(flags.path);
  if (flags.json) {
    fmt::print("{}\n", found.dump(2));
    return 0;
  }
  fmt::print("{}\n", found["kind"].get<std::string>());
  if (found.contains("components")) {
    fmt::print("{}\n", found["class"].get<std::string>());
    for (const Json& component : found["components"]) print_component(component, "  ");
  } else if (found.contains("class")) {
    print_component(found, "  ");
  } else {
    print_weights(found["weights"], "  ");
    for (const Json& entry : found["weights"]["entries"]) {
      fmt::print("    {:<8} {:<24} {}\n", entry["dtype"].get<std::string>(), entry["shape"].dump(),
                 entry["name"].get<std::string>());
    }
  }
  return 0;
}

}  // namespace

void add_inspect(CLI::App& app, Run& run) {
  auto flags = std::make_shared<InspectFlags>();
  CLI::App* command =
      app.add_subcommand("inspect", "tell what a weights file or a model's folder holds");
  command->add_option("path", flags->path, "a file or folder")->required();
  command->add_flag("--json", flags->json, "print as JSON");
  command->callback([flags, &run] { run = [flags] { return inspect_path(*flags); }; });
}

}  // namespace omnirt::cli
