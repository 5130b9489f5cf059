#include "pipeline/embeds_file.hpp"

#include <ATen/ops/isfinite.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "pipeline/file_tensor.hpp"

namespace omnirt {
namespace fs = std::filesystem;
namespace {

struct KnownEmbeds {
  const char* name;
  size_t dims;
};
constexpr std::array known_embeds{
    KnownEmbeds{"prompt_embeds", 3}, KnownEmbeds{"negative_prompt_embeds", 3},
    KnownEmbeds{"pooled_prompt_embeds", 2}, KnownEmbeds{"negative_pooled_prompt_embeds", 2}};
constexpr int64_t max_prompts = 256, max_embeds_side = 1 << 14;

[[noreturn]] void refuse_embeds(const fs::path& path, const std::string& why) {
  throw InvalidRequest({"encoded_prompt", path.string(), why,
                        "give prompt_embeds {n, tokens, channels}, and negative_prompt_embeds, "
                        "pooled_prompt_embeds {n, channels}, negative_pooled_prompt_embeds where "
                        "the model takes them, in fp32, fp16 or bf16"});
}

void check_entry(const io::TensorEntry& entry, const fs::path& path) {
  const auto* wanted = std::ranges::find_if(
      known_embeds, [&](const KnownEmbeds& each) { return entry.name == each.name; });
  if (wanted == known_embeds.end())
    refuse_embeds(path, fmt::format("has a tensor '{}'", entry.name));
  const std::vector<int64_t>& shape = entry.shape;
  bool fits =
      shape.size() == wanted->dims && is_floating(entry.dtype) &&
      std::ranges::all_of(shape, [](int64_t n) { return n >= 1 && n <= max_embeds_side; }) &&
      shape.front() <= max_prompts;
  if (fits) return;
  refuse_embeds(path, fmt::format("its {} is {{{}}} of type {}", entry.name, fmt::join(shape, ", "),
                                  io::common_dtype_name(entry.dtype)));
}

// The negative ones are like the others, for all prompts or for each.
void check_pair(const EmbedsInfo& info, const char* name, const char* negative,
                const fs::path& path) {
  auto given = info.shapes.find(name), other = info.shapes.find(negative);
  if (other == info.shapes.end()) return;
  if (given == info.shapes.end())
    refuse_embeds(path, fmt::format("has {}, and no {}", negative, name));
  std::vector<int64_t> one = given->second, two = other->second;
  if (two.front() == 1) two.front() = one.front();
  if (one != two) {
    refuse_embeds(path, fmt::format("its {} is {{{}}}, and its {} {{{}}}", name,
                                    fmt::join(given->second, ", "), negative,
                                    fmt::join(other->second, ", ")));
  }
}

EmbedsInfo info_of(const io::SafetensorsFile& file, const fs::path& path) {
  EmbedsInfo info;
  for (const io::TensorEntry& entry : file.entries()) {
    check_entry(entry, path);
    info.shapes[entry.name] = entry.shape;
  }
  if (!info.shapes.contains("prompt_embeds")) refuse_embeds(path, "has no tensor 'prompt_embeds'");
  check_pair(info, "prompt_embeds", "negative_prompt_embeds", path);
  check_pair(info, "pooled_prompt_embeds", "negative_pooled_prompt_embeds", path);
  auto pooled = info.shapes.find("pooled_prompt_embeds");
  if (pooled != info.shapes.end() && pooled->second.front() != info.prompts())
    refuse_embeds(path, fmt::format("has {} prompts, and {} pooled ones", info.prompts(),
                                    pooled->second.front()));
  return info;
}

}  // namespace

EmbedsInfo probe_embeds(const fs::path& path) {
  return info_of(*io::SafetensorsFile::open(path), path);
}

GivenEmbeds read_embeds(const fs::path& path) {
  auto file = io::SafetensorsFile::open(path);
  info_of(*file, path);
  GivenEmbeds made;
  for (const io::TensorEntry& entry : file->entries()) {
    Tensor values = read_tensor(*file, entry);
    if (!values.isfinite().all().item<bool>())
      refuse_embeds(path, fmt::format("its {} has numbers that are not finite", entry.name));
    made.tensors[entry.name] = values;
  }
  return made;
}

}  // namespace omnirt
