#include "blocks/export_images.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "blocks/export_files.hpp"
#include "blocks/parameters_text.hpp"

namespace omnirt::blocks {
namespace fs = std::filesystem;
namespace {

io::ImageFormat image_format_of(std::optional<io::ImageFormat> format,
                                const std::optional<std::string>& output) {
  if (format) return *format;
  return output ? io::image_format_from_path(*output) : io::ImageFormat::png;
}

// The request cut down to item `item` of a list of `items`: of each text that is given per item,
// its own.
Json record_of_item(Json record, size_t item, size_t items) {
  if (record.is_null()) return record;
  for (auto& [name, value] : record["inputs"].items()) {
    bool text = name.starts_with("prompt") || name.starts_with("negative_prompt");
    if (text && value.is_array() && value.size() == items) {
      Json one = value[item];
      value = std::move(one);
    }
  }
  return record;
}

// The request that makes this one image, of prompt `prompt` of `prompts`; empty where it embeds
// none.
io::ImageMetadata metadata_of(const Json& record, uint64_t seed, size_t prompt, size_t prompts) {
  if (record.is_null()) return {};
  Json one = record_of_item(record, prompt, prompts);
  // A run that draws no noise has neither.
  if (one["config"].contains("seed")) {
    one["config"]["seed"] = seed;
    one["config"]["num_images_per_prompt"] = 1;
  }
  io::ImageMetadata texts{{io::request_metadata_key, one.dump()}};
  // A courtesy to other programs, for which the request itself must not be refused.
  std::string parameters = parameters_text(one);
  if (parameters.size() + texts.begin()->second.size() + 64 <= io::max_metadata_bytes)
    texts.emplace(io::parameters_metadata_key, std::move(parameters));
  return texts;
}

}  // namespace

void ExportImages::check(Checks& checks) const {
  const std::vector<std::string>& prompts = checks.texts(prompt);
  if (prompts.empty()) return;
  auto longest = std::ranges::max_element(prompts, {}, &std::string::size) - prompts.begin();
  check_record_size(checks,
                    record_of_item(checks.record(), static_cast<size_t>(longest), prompts.size()));
}

void ExportImages::run(Frame& frame) const {
  const auto& all = frame[images];
  io::ImageFormat format = image_format_of(frame.maybe(output_format), frame.maybe(output));
  Target target =
      target_of(frame.maybe(output), frame[output_dir], io::image_extension(format), frame);
  Written written;
  std::vector<ArtifactReport> made;
  ensure(!frame[prompt].empty() && !frame[seeds].empty() && all.size() % frame[seeds].size() == 0 &&
             all.size() % frame[prompt].size() == 0,
         "{} images of {} seeds and {} prompts", all.size(), frame[seeds].size(),
         frame[prompt].size());
  size_t per_prompt = all.size() / frame[prompt].size();
  const size_t per_seed = all.size() / frame[seeds].size();  // layers of one image
  for (size_t i = 0; i < all.size(); ++i) {
    if (frame.cancel()) frame.cancel()->check();
    size_t of = i / per_prompt;
    ArtifactReport& report = made.emplace_back(ArtifactReport{.path = "",
                                                              .kind = "image",
                                                              .mime = "",
                                                              .width = all[i].width,
                                                              .height = all[i].height,
                                                              .seed = frame[seeds][i / per_seed],
                                                              .prompt = frame[prompt][of]});
    if (!frame.writes_files()) continue;
    fs::path file = target.file(i, all.size(), report.seed, per_seed);
    make_folder(file.parent_path());
    io::write_image(file, all[i], format,
                    metadata_of(frame.record(), report.seed, of, frame[prompt].size()));
    written.add(file);
    report.path = file.native();
    report.mime = io::image_media_type(format);
  }
  for (size_t i = 0; i < made.size(); ++i) frame.deliver({made[i], {&all[i], 1}});
  written.keep();
  frame[artifacts] = std::move(made);
}

}  // namespace omnirt::blocks
