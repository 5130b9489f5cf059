#include <fmt/format.h>

#include <memory>
#include <optional>
#include <random>

#include "cli/axes.hpp"
#include "cli/commands.hpp"
#include "cli/findings.hpp"
#include "cli/grid_sheet.hpp"
#include "cli/interrupt.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/say.hpp"
#include "io/image.hpp"
#include "io/new_folder.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::cli {
namespace {
namespace fs = std::filesystem;

constexpr size_t most_cells = 1024;
// Of a drawn seed: short enough to be typed again.
constexpr uint64_t drawn_seeds = uint64_t{1} << 32;

struct GridFlags {
  Session* session = nullptr;
  std::unique_ptr<RequestOptions> options;
  std::string x, y, z, cells;
  bool quiet = false;
};

struct Grid {
  std::vector<Axis> axes;  // of x, y and z those that are given
  std::array<size_t, 3> sizes{1, 1, 1};
  GridLabels labels;
  std::vector<GenerateRequest> requests;  // in the order of GridLabels' cells
};

void add_axis(const GridFlags& flags, Grid& grid, size_t place) {
  struct Side {
    const char* flag;
    const std::string& text;
    std::vector<std::string>& labels;
  };
  const std::array<Side, 3> sides{{{"--x", flags.x, grid.labels.x},
                                   {"--y", flags.y, grid.labels.y},
                                   {"--z", flags.z, grid.labels.z}}};
  const Side& side = sides[place];
  side.labels = {""};
  if (side.text.empty()) return;
  Axis axis = Axis::parse(side.flag, side.text, flags.session->keys());
  side.labels.clear();
  for (size_t i = 0; i < axis.size(); ++i) side.labels.push_back(axis.label(i));
  grid.sizes[place] = axis.size();
  grid.axes.push_back(std::move(axis));
}

// All images of a grid begin with the same noise, unless seeds are what varies.
void settle_seed(const Grid& grid, GenerateRequest& base) {
  const bool varied =
      std::ranges::any_of(grid.axes, [](const Axis& axis) { return axis.varies("seed"); });
  if (varied || base.config.contains("seed")) return;
  std::random_device entropy;
  base.config["seed"] = std::uniform_int_distribution<uint64_t>(0, drawn_seeds - 1)(entropy);
}

std::string cell_name(size_t cell, size_t cells) {
  const size_t digits = std::to_string(cells - 1).size();
  return fmt::format("{:0{}}.png", cell, digits);
}

Grid make_grid(const GridFlags& flags, GenerateRequest base) {
  Grid grid;
  for (size_t place = 0; place < 3; ++place) add_axis(flags, grid, place);
  if (grid.axes.empty())
    throw InvalidRequest({"--x", "", "a grid needs what varies", "for instance --x steps=5,10,20"});
  const size_t cells = grid.labels.cells();
  if (cells > most_cells) {
    throw InvalidRequest({"--x", fmt::format("{} images", cells),
                          fmt::format("at most {} are made", most_cells), "give fewer values"});
  }
  settle_seed(grid, base);
  for (size_t cell = 0; cell < cells; ++cell) {
    GenerateRequest request = base;
    size_t rest = cell, axis = 0;
    for (size_t place = 0; place < 3; ++place) {
      const std::string& text = place == 0 ? flags.x : place == 1 ? flags.y : flags.z;
      if (!text.empty()) grid.axes[axis++].apply(request, rest % grid.sizes[place]);
      rest /= grid.sizes[place];
    }
    grid.requests.push_back(std::move(request));
  }
  return grid;
}

void refuse_size(const GridSize& size) {
  const io::ImageLimits limits;
  if (size.width <= limits.max_side && size.height <= limits.max_side &&
      size.width * size.height <= limits.max_pixels)
    return;
  throw InvalidRequest({"--x", fmt::format("{}x{} pixels", size.width, size.height),
                        fmt::format("an image has at most {} per side and {} in all",
                                    limits.max_side, limits.max_pixels),
                        "give fewer values or smaller images"});
}

// Every cell, before the first runs, as if it were written to the grid's own file. False where one
// is refused; its findings are printed.
bool check_all(const GridFlags& flags, const Grid& grid) {
  bool warned = false;
  for (size_t cell = 0; cell < grid.requests.size(); ++cell) {
    auto checked = flags.session->check(grid.requests[cell], flags.options->strict());
    if (!checked.ok) {
      note("cell {} of {}:\n", cell + 1, grid.requests.size());
      print_errors(checked.errors);
      return false;
    }
    if (!warned) print_warnings(checked.warnings);
    warned = warned || !checked.warnings.empty();
    const auto width = checked.config_resolved.maybe(keys::width);
    const auto height = checked.config_resolved.maybe(keys::height);
    if (width && height) refuse_size(grid_size(grid.labels, *width, *height));
  }
  return true;
}

io::Image run_cell(const GridFlags& flags, GenerateRequest request, const fs::path& folder,
                   size_t cell, size_t cells) {
  request.config["output"] = (folder / cell_name(cell, cells)).string();
  CancelToken cancel;
  Stoppable stoppable(cancel);
  Progress progress(flags.quiet);
  if (!flags.quiet) note("cell {} of {}\n", cell + 1, cells);
  RunReport report;
  flags.session->run(request, flags.options->strict(), cancel, {.on_progress = std::ref(progress)},
                     report);
  progress.finish();
  if (report.artifacts.size() != 1) {
    throw InvalidRequest({"config.num_images_per_prompt",
                          fmt::format("{} images", report.artifacts.size()),
                          "a cell of a grid is one image", "give one prompt, and no -n"});
  }
  return io::read_image(report.artifacts.front().path);
}

int grid(const GridFlags& flags) {
  flags.options->use_threads();
  GenerateRequest base = flags.options->request();
  auto output = base.config.find("output");
  if (output == base.config.end() || !output->is_string())
    throw InvalidRequest(
        {"--output", "", "missing: the file to write the grid to", "add -o grid.png"});
  const fs::path file = output->get<std::string>();
  const io::ImageFormat format = io::image_format_from_path(file);
  flags.session->keep_components();
  flags.session->confine(flags.options->confine());
  const Grid plan = make_grid(flags, std::move(base));
  if (!check_all(flags, plan)) return 2;
  io::NewFolder folder(
      "--cells", flags.cells.empty() ? fs::path(file.string() + ".cells") : fs::path(flags.cells));
  std::vector<io::Image> cells;
  for (const GenerateRequest& request : plan.requests)
    cells.push_back(run_cell(flags, request, folder.path(), cells.size(), plan.requests.size()));
  io::write_image(file, draw_grid(plan.labels, cells), format);
  if (!flags.cells.empty()) folder.commit();
  say("{}\n", fs::absolute(file).lexically_normal().string());
  return 0;
}

}  // namespace

void add_grid(CLI::App& app, Run& run, Session& session) {
  auto flags = std::make_shared<GridFlags>();
  flags->session = &session;
  RequestCommand* command = &RequestCommand::add(
      app, "grid", "compare images over the values of up to three keys, labelled");
  flags->options = std::make_unique<RequestOptions>(*command, session.keys());
  command->add_option("--x", flags->x,
                      "what varies over columns: steps=5,10,20, prompt=[\"a\",\"b\"], model=..., "
                      "guider.NAME=...");
  command->add_option("--y", flags->y, "what varies over rows");
  command->add_option("--z", flags->z, "what varies over blocks of rows");
  command->add_option("--cells", flags->cells, "folder to keep the single images in");
  command->add_flag("-q,--quiet", flags->quiet, "no progress");
  command->callback([flags, &run] {
    run = [flags] {
      return with_flag_names(flags->options->fields(), [&] { return grid(*flags); });
    };
  });
}

}  // namespace omnirt::cli
