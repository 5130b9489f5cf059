#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/commands.hpp"
#include "cli/say.hpp"
#include "io/image.hpp"
#include "io/image_caption.hpp"

namespace omnirt::cli {
namespace {

struct SheetFlags {
  std::string output;
  std::vector<std::string> images, captions;
  int64_t columns = 4;
  int64_t gap = 8;
};

int sheet(const SheetFlags& flags) {
  if (!flags.captions.empty() && flags.captions.size() != flags.images.size()) {
    throw InvalidRequest({"--caption", fmt::format("{} captions", flags.captions.size()),
                          fmt::format("there are {} images", flags.images.size()),
                          "give one for each image, or none"});
  }
  std::vector<io::Image> images;
  for (const std::string& path : flags.images) images.push_back(io::read_image(path));
  if (!flags.captions.empty()) images = io::with_captions(images, flags.captions);
  io::write_image(flags.output, io::make_sheet(images, flags.columns, flags.gap, {255, 255, 255}));
  say("{}\n", std::filesystem::absolute(flags.output).lexically_normal().string());
  return 0;
}

}  // namespace

void add_sheet(CLI::App& app, Run& run) {
  auto flags = std::make_shared<SheetFlags>();
  CLI::App* command = app.add_subcommand("sheet", "put images side by side into one");
  command->add_option("-o,--output", flags->output, "file to write")->required();
  command->add_option("--columns", flags->columns, "images per row");
  command->add_option("--gap", flags->gap, "pixels between them");
  command->add_option("--caption", flags->captions, "below an image: once for each, in their order")
      ->allow_extra_args(false);
  command->add_option("images", flags->images, "png, jpeg or webp files")->required();
  command->callback([flags, &run] { run = [flags] { return sheet(*flags); }; });
}

}  // namespace omnirt::cli
