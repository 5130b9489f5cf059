#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/say.hpp"
#include "engine/session.hpp"

namespace omnirt::cli {
namespace {

struct InspectFlags {
  std::string path;
  bool json = false;
  bool describe = false;
  bool verbose = false;
};

// What a weights file is, where it is a whole model.
Json recognised(const Session& session, const std::string& path) {
  try {
    return session.recognise(path);
  } catch (const InvalidRequest& refused) {
    return {{"not_a_model", refused.findings().front().message}};
  }
}

int describe(const InspectFlags& flags, const Session& session) {
  Json networks = session.describe_networks(flags.path);
  for (Json& network : networks) {
    if (!flags.json)
      say_lines(network[flags.verbose ? "verbose_table" : "table"].get<std::string>() + "\n");
    network.erase("table");
    network.erase("verbose_table");
  }
  if (flags.json) say_json(networks);
  return 0;
}

// How many tensors of which type each layer has.
void print_layers(const Json& layers, const char* indent) {
  for (const auto& [layer, types] : layers.items()) {
    std::string counts;
    for (const auto& [type, count] : types.items())
      counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count.get<uint64_t>(), type);
    say("{}  {}: {}\n", indent, layer, counts);
  }
}

void print_weights(const Json& weights, const char* indent) {
  say("{}{} parameters in {} tensors, {:.1f} MB\n", indent, weights["parameters"].get<uint64_t>(),
      weights["tensors"].get<uint64_t>(),
      static_cast<double>(weights["bytes"].get<uint64_t>()) / 1e6);
  for (const auto& [dtype, count] : weights["parameters_by_dtype"].items()) {
    say("{}  {:<8} {}\n", indent, dtype, count.get<uint64_t>());
  }
  if (weights.contains("memory_bytes")) {
    say("{}  {:.1f} MB where it is widened to fp32 (level eager, devices other than the cpu)\n",
        indent, static_cast<double>(weights["memory_bytes"].get<uint64_t>()) / 1e6);
    print_layers(weights["types_by_layer"], indent);
  }
  for (const Json& file : weights["files"]) say("{}  {}\n", indent, file.get<std::string>());
}

void print_component(const Json& component, const char* indent) {
  say("{}{}: {}\n", indent, component["name"].get<std::string>(),
      component["class"].get<std::string>());
  if (component.contains("weights")) print_weights(component["weights"], "    ");
  if (component.contains("weights_error"))
    say("    {}\n", component["weights_error"].get<std::string>());
}

// A file of this program's own: what it is, and the request that made it.
void print_own(const Json& found) {
  if (found.contains("what")) say("  {}\n", found["what"].get<std::string>());
  if (found.contains("width"))
    say("  {}x{}, {}\n", found["width"].get<int64_t>(), found["height"].get<int64_t>(),
        found["format"].get<std::string>());
  const Json& request = found["request"];
  if (request.is_null() && found.contains("parameters"))
    say_lines(found["parameters"].get<std::string>() + "\n");
  else if (request.is_null())
    say("  it carries no request\n");
  else
    say_json(request);
}

// A model's id means the folder or file that it is found at; a path that is there means itself.
std::string place_of(const InspectFlags& flags, const Session& session) {
  std::error_code error;
  if (std::filesystem::exists(flags.path, error)) return flags.path;
  try {
    std::string found = session.model(flags.path)["tasks"][0]["found_at"].get<std::string>();
    return found.empty() ? flags.path : found;
  } catch (const InvalidRequest&) {
    return flags.path;  // refused by the reader, as the file that is not there
  }
}

int inspect_path(const InspectFlags& flags, const Session& session) {
  if (flags.describe) return describe(flags, session);
  const std::string path = place_of(flags, session);
  Json found = inspect(path);
  if (found["kind"] == "weights file") found["single_file"] = recognised(session, path);
  if (flags.json) {
    say_json(found);
    return 0;
  }
  say("{}\n", found["kind"].get<std::string>());
  if (found.contains("request")) {
    print_own(found);
  } else if (found.contains("components")) {
    say("{}\n", found["class"].get<std::string>());
    for (const Json& component : found["components"]) print_component(component, "  ");
  } else if (found.contains("class")) {
    print_component(found, "  ");
  } else {
    const Json& model = found["single_file"];
    say("  {}\n", model[model.contains("kind") ? "kind" : "not_a_model"].get<std::string>());
    print_weights(found["weights"], "  ");
    for (const Json& entry : found["weights"]["entries"]) {
      say("    {:<8} {:<24} {}\n", entry["dtype"].get<std::string>(), entry["shape"].dump(),
          entry["name"].get<std::string>());
    }
  }
  return 0;
}

}  // namespace

void add_inspect(CLI::App& app, Run& run, Session& session) {
  auto flags = std::make_shared<InspectFlags>();
  CLI::App* command =
      app.add_subcommand("inspect", "tell what a weights file or a model's folder holds");
  command
      ->add_option("path", flags->path,
                   "a file, a folder, a model's id, or (--describe) a network class")
      ->required();
  command->add_flag("--describe", flags->describe,
                    "what each network supports, and what to set to change it");
  command->add_flag("-v,--verbose", flags->verbose, "with --describe: what each row means");
  command->add_flag("--json", flags->json, "print as JSON");
  command->callback([flags, &run, &session] {
    run = [flags, &session] { return inspect_path(*flags, session); };
  });
}

}  // namespace omnirt::cli
