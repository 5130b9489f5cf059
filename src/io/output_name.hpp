#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace omnirt::io {

// Which of a run's files a name belongs to.
struct OutputPart {
  size_t index = 0;  // from 0
  size_t count = 1;
  uint64_t seed = 0;
  size_t per_seed = 1;  // files of one seed, which it does not tell apart
  std::string model{};
  std::string run{};
};

// The path with {index}, {seed}, {model} and {run} replaced. Of several files, a name that does not
// tell them apart by {index} or {seed} gets the index after its stem (out_0.png). An index has as
// many digits as the last one, so that names sort.
std::filesystem::path output_name(const std::string& pattern, const OutputPart& part);

// The first of its words in braces that is none of these.
std::optional<std::string> unknown_part(const std::string& pattern);

}  // namespace omnirt::io
