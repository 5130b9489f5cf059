#include "pipeline/embeds_file.hpp"

#include <ATen/ops/isfinite.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "base/path_text.hpp"
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
  throw InvalidRequest({"inputs.encoded_prompt", path_text(path), why,
                        "give prompt_embeds {n, tokens, channels}, and negative_prompt_embeds, "
                        "pooled_prompt_embeds {n, channels}, negative_pooled_prompt_embeds where "
                        "the model takes them, in fp32, fp16 or bf16"});
}

bool fits(const KnownEmbeds& wanted, const std::vector<int64_t>& shape) {
  return shape.size() == wanted.dims && shape.front() <= max_prompts &&
         std::ranges::all_of(shape, [](int64_t n) { return n >= 1 && n <= max_embeds_side; });
}

// The negative ones are like the others, for all prompts or for each.
std::string pair_fault(const EmbedsInfo& info, const char* name, const char* negative) {
  auto given = info.shapes.find(name), other = info.shapes.find(negative);
  if (other == info.shapes.end()) return "";
  if (given == info.shapes.end()) return fmt::format("has {}, and no {}", negative, name);
  std::vector<int64_t> one = given->second, two = other->second;
  if (two.front() == 1) two.front() = one.front();
  if (one == two) return "";
  return fmt::format("its {} is {{{}}}, and its {} {{{}}}", name, fmt::join(given->second, ", "),
                     negative, fmt::join(other->second, ", "));
}

EmbedsInfo info_of(const io::SafetensorsFile& file, const fs::path& path) {
  EmbedsInfo info;
  for (const io::TensorEntry& entry : file.entries()) {
    if (!io::is_plain_float(entry.dtype)) {
      refuse_embeds(path, fmt::format("its {} is of type {}", entry.name,
                                      io::common_dtype_name(entry.dtype)));
    }
    info.shapes[entry.name] = entry.shape;
  }
  std::string fault = embeds_fault(info);
  if (!fault.empty()) refuse_embeds(path, fault);
  return info;
}

}  // namespace

std::string embeds_fault(const EmbedsInfo& info) {
  for (const auto& [name, shape] : info.shapes) {
    const auto* wanted = std::ranges::find_if(
        known_embeds, [&, &name = name](const KnownEmbeds& each) { return name == each.name; });
    if (wanted == known_embeds.end()) return fmt::format("has a tensor '{}'", name);
    if (!fits(*wanted, shape)) return fmt::format("its {} is {{{}}}", name, fmt::join(shape, ", "));
  }
  if (!info.shapes.contains("prompt_embeds")) return "has no tensor 'prompt_embeds'";
  std::string fault = pair_fault(info, "prompt_embeds", "negative_prompt_embeds");
  if (fault.empty())
    fault = pair_fault(info, "pooled_prompt_embeds", "negative_pooled_prompt_embeds");
  auto pooled = info.shapes.find("pooled_prompt_embeds");
  if (!fault.empty() || pooled == info.shapes.end() || pooled->second.front() == info.prompts())
    return fault;
  return fmt::format("has {} prompts, and {} pooled ones", info.prompts(), pooled->second.front());
}

EmbedsInfo probe_embeds(const fs::path& path) {
  return info_of(*io::SafetensorsFile::open(path), path);
}

EmbedsInfo embeds_info(const GivenEmbeds& given) {
  EmbedsInfo info;
  for (const auto& [name, values] : given.tensors) info.shapes[name] = values.sizes().vec();
  std::string fault = embeds_fault(info);
  if (!fault.empty()) refuse_embeds("", fault);
  for (const auto& [name, values] : given.tensors) {
    if (!values.isfinite().all().item<bool>())
      refuse_embeds("", fmt::format("its {} has numbers that are not finite", name));
  }
  return info;
}

GivenEmbeds read_embeds(const fs::path& path) {
  auto file = io::SafetensorsFile::open(path);
  info_of(*file, path);
  GivenEmbeds made;
  for (const io::TensorEntry& entry : file->entries()) {
    Tensor values = read_tensor(file, entry);
    if (!values.isfinite().all().item<bool>())
      refuse_embeds(path, fmt::format("its {} has numbers that are not finite", entry.name));
    made.tensors[entry.name] = values;
  }
  return made;
}

}  // namespace omnirt
