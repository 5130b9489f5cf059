#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>

#include "base/json_text.hpp"
#include "cli/commands.hpp"
#include "cli/flag_text.hpp"
#include "cli/say.hpp"
#include "io/preprocess.hpp"
#include "request/web_address.hpp"

namespace omnirt::cli {
namespace {

struct PreprocessFlags {
  std::string kind, image, output;
  std::vector<std::string> options;
};

// The image that is read is not to be lost, whatever name it is written under.
void keep_input(const PreprocessFlags& flags) {
  std::error_code error;
  if (std::filesystem::equivalent(flags.image, flags.output, error))
    throw InvalidRequest(
        {"--output", flags.output, "is the image that is read", "name another file"});
}

int preprocess(const PreprocessFlags& flags) {
  refuse_url("image", flags.image);
  keep_input(flags);
  Json how = {{"type", flags.kind}};
  for (const std::string& text : flags.options) {
    auto [name, value] = pair_flag("set", text, "low=50");
    how[name] = parse_json_or_text(value, "--set");
  }
  const io::Preprocess read = io::read_preprocess(how, "preprocess");
  io::write_image(flags.output, io::preprocessed(io::read_image(flags.image), read));
  say("{}\n", std::filesystem::absolute(flags.output).lexically_normal().string());
  return 0;
}

}  // namespace

void add_preprocess(CLI::App& app, Run& run) {
  auto flags = std::make_shared<PreprocessFlags>();
  CLI::App* command =
      app.add_subcommand("preprocess", "make of an image what a ControlNet is given of it");
  command
      ->add_option("kind", flags->kind,
                   "canny, tile, grayscale, luminance, intensity, invert or threshold")
      ->required();
  command->add_option("image", flags->image, "png, jpeg or webp file")->required();
  command->add_option("-o,--output", flags->output, "file to write")->required();
  command->add_option("--set", flags->options, "an option of the kind, as in low=50; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->callback([flags, &run] { run = [flags] { return preprocess(*flags); }; });
}

}  // namespace omnirt::cli
