#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "cli/commands.hpp"
#include "cli/say.hpp"

namespace omnirt::cli {
namespace {

std::string words_of(const Json& words) {
  return fmt::format("{}", fmt::join(words.get<std::vector<std::string>>(), ", "));
}

// What goes together, by the config keys: "compile: dtype fp32; quantize none, int8; ...".
void print_mode(const Json& mode) {
  std::string line = words_of(mode["levels"]) + ":";
  const char* separator = " ";
  for (const auto& [key, words] : mode.items()) {
    if (key == "levels" || words.empty()) continue;
    line += fmt::format("{}{} {}", separator, key, words_of(words));
    separator = "; ";
  }
  say("{:<10} {}\n", "", line);
}

void print_device(const Json& device) {
  if (!device["available"].get<bool>()) {
    say("{:<10} {}: not available: {}\n", "", device["device"].get<std::string>(),
        device["reason"].get<std::string>());
    return;
  }
  say("{:<10} {}: {:.1f} GiB free\n", "", device["device"].get<std::string>(),
      device["available_memory_gb"].get<double>());
}

void print_backend(const Json& backend) {
  bool available = backend["available"].get<bool>();
  std::string state = !available                         ? "not available"
                      : backend["automatic"].get<bool>() ? "available, taken by auto"
                                                         : "available";
  say("{:<10} {}: {}\n", backend["name"].get<std::string>(), state,
      backend["reason"].get<std::string>());
  if (available) {
    for (const Json& mode : backend["modes"]) print_mode(mode);
    say("{:<10} compile {}, graph mode {}; kernel overrides: {}\n", "",
        backend["compile_available"].get<bool>() ? "yes" : "no",
        backend["supports_graph_mode"].get<bool>() ? "yes" : "no",
        backend["overrides"].empty() ? "none" : words_of(backend["overrides"]));
    for (const Json& device : backend["devices"]) print_device(device);
  } else if (std::string way_out = backend["way_out"]; !way_out.empty()) {
    say("{:<10} {}\n", "", way_out);
  }
}

}  // namespace

void add_backends(CLI::App& app, Run& run, Session& session) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command =
      app.add_subcommand("backends", "list the backends, and why one cannot be used here");
  command->add_flag("--json", *json, "print as JSON");
  command->callback([json, &run, &session] {
    run = [json, &session] {
      Json all = session.backends();
      if (*json) {
        say_json(all);
      } else {
        for (const Json& backend : all) print_backend(backend);
      }
      return 0;
    };
  });
}

}  // namespace omnirt::cli
