#include "pipeline/blocks/export_images.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "pipeline/blocks/export_files.hpp"

namespace omnirt::blocks {
namespace fs = std::filesystem;
namespace {

io::ImageFormat image_format_of(const std::optional<std::string>& format,
                                const std::optional<std::string>& output) {
  if (format) return io::image_format_from_name(*format);
  return output ? io::image_format_from_path(*output) : io::ImageFormat::png;
}

// The request that makes this one picture.
Json record_of(const Json& record, uint64_t seed, const std::string& prompt) {
  Json one = record;
  one["inputs"]["prompt"] = prompt;
  one["config"]["seed"] = seed;
  one["config"]["num_images_per_prompt"] = 1;
  return one;
}

}  // namespace

void ExportImages::check(Proposal& proposal) const {
  auto texts = proposal.texts.find("prompt");
  if (texts == proposal.texts.end() || texts->second.empty()) return;
  const std::string& longest = *std::ranges::max_element(texts->second, {}, &std::string::size);
  check_record_size(proposal, record_of(proposal.record(), 0, longest));
}

void ExportImages::run(Frame& frame) const {
  const auto& pictures = frame[images];
  io::ImageFormat format = image_format_of(frame.maybe(output_format), frame.maybe(output));
  Target target = target_of(frame.maybe(output), frame[output_dir],
                            fmt::format("{}-{}", frame.model(), frame.run_id()));
  if (target.extension.empty()) target.extension = io::image_extension(format);
  make_folder(target.folder);
  Written written;
  std::vector<ArtifactReport> made;
  size_t per_prompt = pictures.size() / frame[prompt].size();
  for (size_t i = 0; i < pictures.size(); ++i) {
    if (frame.cancel()) frame.cancel()->check();
    const std::string& shown = frame[prompt][i / per_prompt];
    fs::path file = target.file(i, pictures.size());
    std::string record = record_of(frame.record(), frame[seeds][i], shown).dump();
    io::write_image(file, pictures[i], format, {{io::request_metadata_key, record}});
    written.add(file);
    made.push_back({file.string(), "image", io::image_media_type(format), pictures[i].width,
                    pictures[i].height, frame[seeds][i], shown});
  }
  written.keep();
  frame[artifacts] = std::move(made);
}

}  // namespace omnirt::blocks
