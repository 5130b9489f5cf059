#pragma once
#include <CLI/CLI.hpp>
#include <functional>

#include "engine/session.hpp"

namespace omnirt::cli {

// Each adds a subcommand and sets `run` to what it does when it is the one given; `run` returns the
// exit code.
using Run = std::function<int()>;
void add_generate(CLI::App& app, Run& run, Session& session);
void add_upscale(CLI::App& app, Run& run, Session& session);
void add_bench(CLI::App& app, Run& run, Session& session);
void add_grid(CLI::App& app, Run& run, Session& session);
void add_serve(CLI::App& app, Run& run, Session& session);
void add_worker(CLI::App& app, Run& run, Session& session);
void add_validate(CLI::App& app, Run& run, Session& session);
void add_models(CLI::App& app, Run& run, Session& session);
void add_convert(CLI::App& app, Run& run, Session& session);
void add_backends(CLI::App& app, Run& run, Session& session);
void add_inspect(CLI::App& app, Run& run, Session& session);
void add_docs(CLI::App& app, Run& run, Session& session);
void add_preprocess(CLI::App& app, Run& run);
void add_pull(CLI::App& app, Run& run, Session& session);
void add_cache(CLI::App& app, Run& run);
void add_sheet(CLI::App& app, Run& run);
void add_completions(CLI::App& app, Run& run, Session& session);
void add_man(CLI::App& app, Run& run);

}  // namespace omnirt::cli
