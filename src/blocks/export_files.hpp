#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"

namespace omnirt::blocks {

// What a run has written so far; taken back unless the run ends well.
class Written {
 public:
  Written() = default;
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;
  ~Written();
  void add(std::filesystem::path file) { files_.push_back(std::move(file)); }
  void keep() { files_.clear(); }

 private:
  std::vector<std::filesystem::path> files_;
};

// Where a run's artifacts go.
struct Target {
  std::string pattern;  // an absolute path, as io::output_name reads it
  std::string model, run;

  // Of file `i` of `count`.
  std::filesystem::path file(size_t i, size_t count, uint64_t seed, size_t per_seed = 1) const;
};

// The output as the request names it, else a name of its own in output_dir; with `extension` where
// it has none.
Target target_of(const std::optional<std::string>& output, const std::string& output_dir,
                 const std::string& extension, const Frame& frame);
// Throws RunFailed.
void make_folder(const std::filesystem::path& folder);

// An error where what a file embeds of its request (`record`, without its seed; null: nothing) is
// more than a file may hold: reported before the run, not at its end.
void check_record_size(Checks& checks, const Json& record);

}  // namespace omnirt::blocks
