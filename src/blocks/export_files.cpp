#include "blocks/export_files.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/path_text.hpp"
#include "io/image.hpp"
#include "io/output_name.hpp"

namespace omnirt::blocks {
namespace fs = std::filesystem;

Written::~Written() {
  std::error_code ignored;
  for (const fs::path& file : files_) fs::remove_all(file, ignored);
}

fs::path Target::file(size_t i, size_t count, uint64_t seed, size_t per_seed) const {
  return io::output_name(pattern, {.index = i,
                                   .count = count,
                                   .seed = seed,
                                   .per_seed = per_seed,
                                   .model = model,
                                   .run = run})
      .lexically_normal();
}

Target target_of(const std::optional<std::string>& output, const std::string& output_dir,
                 const std::string& extension, const Frame& frame) {
  fs::path path = output ? fs::path(*output) : fs::path(output_dir) / "{model}-{run}";
  if (path.extension().empty()) path += extension;
  return {fs::absolute(path).native(), frame.model(), frame.run_id()};
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw RunFailed(
        fmt::format("could not make the folder {}: {}", path_text(folder), error.message()));
}

void check_record_size(Checks& checks, const Json& record) {
  if (record.is_null() || !checks.writes_files()) return;
  constexpr size_t margin = 16384;  // for the key, the seed and the fingerprints
  size_t bytes = record.dump().size();
  if (bytes + margin <= io::max_metadata_bytes) return;
  checks.error({"inputs", fmt::format("{} bytes", bytes),
                fmt::format("each file carries the request that makes it, which may take {} bytes",
                            io::max_metadata_bytes - margin),
                "shorten the texts"});
}

}  // namespace omnirt::blocks
