#include "pipeline/blocks/export_images.hpp"

#include <fmt/format.h>

namespace omnirt::blocks {
namespace fs = std::filesystem;
namespace {

// What a run has written so far; taken back unless the run ends well.
class Written {
 public:
  Written() = default;
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;
  ~Written() {
    std::error_code ignored;
    for (const fs::path& file : files_) fs::remove(file, ignored);
  }
  void add(fs::path file) { files_.push_back(std::move(file)); }
  void keep() { files_.clear(); }

 private:
  std::vector<fs::path> files_;
};

struct Target {
  fs::path folder;
  std::string stem;
  std::string extension;
  io::ImageFormat format = io::ImageFormat::png;

  // out.png, or out_0.png, out_1.png, ... of several.
  fs::path file(size_t i, size_t count) const {
    return folder / (count == 1 ? stem + extension : fmt::format("{}_{}{}", stem, i, extension));
  }
};

Target target_of(const std::optional<std::string>& output, const std::string& output_dir,
                 const std::optional<std::string>& format, const std::string& fallback_stem) {
  Target target;
  if (format) target.format = io::image_format_from_name(*format);
  if (output) {
    fs::path path = fs::absolute(*output);
    if (!format) target.format = io::image_format_from_path(path);
    target.folder = path.parent_path();
    target.stem = path.stem().string();
    target.extension = path.extension().string();
  } else {
    target.folder = fs::absolute(output_dir);
    target.stem = fallback_stem;
  }
  if (target.extension.empty()) target.extension = io::image_extension(target.format);
  return target;
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw RunFailed(
        fmt::format("could not make the folder {}: {}", folder.string(), error.message()));
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

void ExportImages::run(Frame& frame) const {
  const auto& pictures = frame[images];
  Target target = target_of(frame.maybe(output), frame[output_dir], frame.maybe(output_format),
                            fmt::format("{}-{}", frame.model(), frame.run_id()));
  make_folder(target.folder);
  Written written;
  std::vector<ArtifactReport> made;
  size_t per_prompt = pictures.size() / frame[prompt].size();
  for (size_t i = 0; i < pictures.size(); ++i) {
    if (frame.cancel()) frame.cancel()->check();
    const std::string& shown = frame[prompt][i / per_prompt];
    fs::path file = target.file(i, pictures.size()).lexically_normal();
    std::string record = record_of(frame.record(), frame[seeds][i], shown).dump();
    io::write_image(file, pictures[i], target.format, {{io::request_metadata_key, record}});
    written.add(file);
    made.push_back({file.string(), "image", io::image_media_type(target.format), pictures[i].width,
                    pictures[i].height, frame[seeds][i], shown});
  }
  written.keep();
  frame[artifacts] = std::move(made);
}

}  // namespace omnirt::blocks
