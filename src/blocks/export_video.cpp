#include "blocks/export_video.hpp"

#include <fmt/format.h>

#include "blocks/export_files.hpp"

namespace omnirt::blocks {
namespace fs = std::filesystem;
namespace {

io::VideoFormat video_format_of(std::optional<io::VideoFormat> format,
                                const std::optional<std::string>& output) {
  if (format) return *format;
  return output ? io::video_format_from_path(*output) : io::VideoFormat::mp4;
}

// The request that makes this one video; empty where it embeds none.
io::ImageMetadata metadata_of(const Json& record, uint64_t seed) {
  if (record.is_null()) return {};
  Json one = record;
  one["config"]["seed"] = seed;
  one["config"]["num_videos_per_prompt"] = 1;
  return {{io::request_metadata_key, one.dump()}};
}

void check_names(Checks& checks, const std::string& output, std::optional<io::VideoFormat> format) {
  fs::path path = output;
  if (format && !path.has_extension()) return;
  io::VideoFormat by_name = io::video_format_from_path(path);
  if (!format || *format == by_name) return;
  checks.error({"config.output_format", name_of(*format),
                fmt::format("disagrees with the output's name {}", path.filename().string()),
                "give one of them"});
}

}  // namespace

void ExportVideo::check(Checks& checks) const {
  check_record_size(checks, checks.record());
  auto named = checks.maybe(output);
  auto format = checks.maybe(output_format);
  if (named) check_names(checks, *named, format);
  io::VideoFormat chosen = video_format_of(format, named);
  if (auto missing = io::video_format_missing(chosen); missing && checks.writes_files())
    checks.error({"config.output_format", name_of(chosen), *missing,
                  "or give output_format gif, webp or frames"});
  if (named && chosen == io::VideoFormat::frames && !io::may_hold_frames(*named))
    checks.error({"config.output", *named, "is there already, and not an empty folder",
                  "name another folder"});
}

void ExportVideo::run(Frame& frame) const {
  const auto& all = frame[frames];
  io::VideoFormat format = video_format_of(frame.maybe(output_format), frame.maybe(output));
  Target target =
      target_of(frame.maybe(output), frame[output_dir], io::video_extension(format), frame);
  Written written;
  std::vector<ArtifactReport> made;
  size_t videos = frame[seeds].size();
  ensure(videos > 0 && !all.empty() && all.size() % videos == 0, "{} frames of {} videos",
         all.size(), videos);
  size_t count = all.size() / videos;
  io::VideoOptions options{.fps = frame[output_fps]};
  for (size_t i = 0; i < videos; ++i) {
    if (frame.cancel()) frame.cancel()->check();
    std::span<const io::Image> of_one(all.data() + i * count, count);
    ArtifactReport& report = made.emplace_back(ArtifactReport{.path = "",
                                                              .kind = "video",
                                                              .mime = "",
                                                              .width = of_one.front().width,
                                                              .height = of_one.front().height,
                                                              .seed = frame[seeds][i],
                                                              .frames = static_cast<int64_t>(count),
                                                              .fps = options.fps});
    if (!frame.writes_files()) continue;
    fs::path file = target.file(i, videos, report.seed);
    make_folder(file.parent_path());
    io::write_video(file, of_one, format, metadata_of(frame.record(), report.seed), options);
    written.add(file);
    report.path = file.native();
    report.mime = io::video_media_type(format);
    auto [width, height] = io::video_size(of_one.front(), format);
    report.width = width;
    report.height = height;
  }
  for (size_t i = 0; i < videos; ++i) frame.deliver({made[i], {all.data() + i * count, count}});
  written.keep();
  frame[artifacts] = std::move(made);
}

}  // namespace omnirt::blocks
