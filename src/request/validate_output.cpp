// The names of the files that a run writes.
#include <fmt/format.h>

#include <algorithm>

#include "base/path_text.hpp"
#include "io/output_name.hpp"
#include "pipeline/keys.hpp"
#include "request/validate.hpp"

namespace omnirt::validation {
namespace fs = std::filesystem;
namespace {

// All files that the request reads, as they are on the disk.
std::set<fs::path> files_read(const Proposal& proposal) {
  std::set<fs::path> files;
  std::error_code error;
  auto add = [&](const fs::path& file) {
    fs::path real = fs::canonical(file, error);
    if (!error && fs::is_regular_file(real, error)) files.insert(real);
  };
  for (const auto& [name, image] : proposal.images) add(image.path);
  for (const auto& [name, file] : proposal.latents) add(file.path);
  for (const auto& [name, list] : proposal.image_lists) {
    for (const ImageInput& image : list) add(image.path);
  }
  add(proposal.folder.path);
  for (const Json& adapter : proposal.request.adapters) {
    if (adapter.is_object() && adapter.contains("path") && adapter["path"].is_string())
      add(adapter["path"].get<std::string>());
  }
  return files;
}

size_t count_of(const Proposal& proposal) {
  auto number = [&](const char* key) -> size_t {
    const ConfigValue* value = proposal.config.find(key);
    return value && value->value.is_number_integer() ? value->value.get<size_t>() : 1;
  };
  auto prompts = proposal.texts.find("prompt");
  const size_t texts = prompts == proposal.texts.end() ? 1 : prompts->second.size();
  return texts * number("num_images_per_prompt") * number("num_videos_per_prompt") *
         number("layers");
}

}  // namespace

void take_output_folder(Proposal& proposal) {
  auto output = proposal.config.maybe(keys::output);
  if (!output) return;
  std::error_code error;
  // Frames of a video go into a folder that the output names.
  bool frames = proposal.spec->artifact_kind == "video" && !output->ends_with("/");
  bool folder = output->ends_with("/") || (!frames && fs::is_directory(*output, error));
  if (!folder) return;
  Origin origin = proposal.config.find(keys::output.name)->origin;
  proposal.config.set(keys::output.name, nullptr, origin);
  proposal.config.set(keys::output_dir.name, *output, origin);
}

void check_output_names(Proposal& proposal, const std::string& output) {
  if (auto unknown = io::unknown_part(output)) {
    proposal.error({"config.output", output, fmt::format("{} is not known", *unknown),
                    "{index}, {seed}, {model} and {run} are replaced in names"});
    return;
  }
  const std::set<fs::path> read = files_read(proposal);
  const size_t count = count_of(proposal);
  const auto seed = static_cast<uint64_t>(proposal.config.maybe(keys::seed).value_or(0));
  for (size_t i = 0; i < count && !read.empty(); ++i) {
    std::error_code error;
    fs::path file = io::output_name(
        output, {.index = i, .count = count, .seed = seed + i, .model = proposal.spec->id});
    if (!read.contains(fs::weakly_canonical(file, error))) continue;
    proposal.error({"config.output", path_text(file), "the request reads this file itself",
                    "name another file"});
    return;
  }
}

// A name that the run counts up or fills in is not meant for one file.
void warn_of_replaced(Proposal& proposal) {
  auto output = proposal.config.maybe(keys::output);
  bool ends = proposal.part.end == proposal.plan.blocks.size();
  if (!output || !proposal.writes_files || !ends || count_of(proposal) > 1 ||
      output->find('{') != output->npos)
    return;
  fs::path file = *output;
  auto format = proposal.config.maybe(keys::output_format);
  if (!file.has_extension() && format) file += io::image_extension(*format);
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return;
  proposal.warn({"config.output", path_text(file), "replaces an existing file",
                 "leave it out, or put {run} into the name, and every run makes a new one"});
}

}  // namespace omnirt::validation
