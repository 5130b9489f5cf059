#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "cli/commands.hpp"
#include "cli/say.hpp"

namespace omnirt::cli {
namespace {

void print_backend(const Json& backend) {
  bool available = backend["available"].get<bool>();
  std::string state = !available                         ? "not available"
                      : backend["automatic"].get<bool>() ? "available, taken by auto"
                                                         : "available";
  say("{:<10} {}: {}\n", backend["name"].get<std::string>(), state,
      backend["reason"].get<std::string>());
  if (available) {
    say("{:<10} computes in {}; compile {}, graph mode {}; {:.1f} GiB free\n", "",
        fmt::join(backend["dtype_options"].get<std::vector<std::string>>(), ", "),
        backend["compile_available"].get<bool>() ? "yes" : "no",
        backend["supports_graph_mode"].get<bool>() ? "yes" : "no",
        backend["available_memory_gb"].get<double>());
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
