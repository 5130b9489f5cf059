#include "families/sdxl/time_ids.hpp"

#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <algorithm>

#include "pipeline/checks.hpp"

namespace omnirt::families {
namespace {

using Pair = std::vector<int64_t>;

Tensor row_of(std::initializer_list<Pair> pairs, std::optional<double> last = {}) {
  std::vector<double> numbers;
  for (const Pair& pair : pairs) numbers.insert(numbers.end(), pair.begin(), pair.end());
  if (last) numbers.push_back(*last);
  return at::tensor(numbers, at::kDouble).to(at::kFloat).unsqueeze(0);
}

// Each list that is given names two numbers.
void check_pair(Checks& checks, const Config<Pair>& port, const char* names) {
  auto given = checks.maybe(port);
  if (!given || given->size() == 2) return;
  checks.error({"config." + port.name(), shown(Json(*given)),
                fmt::format("{} numbers, where two are expected", given->size()),
                fmt::format("give {}", names)});
}

constexpr const char* corner_names = "[top, left]";
constexpr const char* size_names = "[height, width]";

// Without guidance there is nothing that negative sizes could belong to.
bool has_negative(const Checks& checks) {
  return std::ranges::any_of(checks.conditions(), &Condition::negative);
}

constexpr const char* no_guidance = "has no effect without guidance";
constexpr const char* more_guidance = "raise config.guidance_scale above 1, or remove it";

}  // namespace

void TimeIds::check(Checks& checks) const {
  for (const auto* size :
       {&original_size, &target_size, &negative_original_size, &negative_target_size})
    check_pair(checks, *size, size_names);
  for (const auto* corner : {&crop, &negative_crop}) check_pair(checks, *corner, corner_names);
  auto unused = [&](const std::string& why, const std::string& way_out) {
    for (const auto* port : {&negative_original_size, &negative_crop, &negative_target_size})
      checks.unused(*port, why, way_out);
  };
  if (!has_negative(checks)) return unused(no_guidance, more_guidance);
  if (!from_noise_) {
    checks.unused(negative_crop,
                  fmt::format("has no effect on task {}: the prompt's corner serves both, as in "
                              "the reference",
                              checks.task()),
                  "remove it");
  } else if (!checks.maybe(negative_original_size) || !checks.maybe(negative_target_size)) {
    unused(
        "has no effect unless negative_original_size and negative_target_size are both given, "
        "as in the reference",
        "give both, or remove it");
  }
}

void TimeIds::run(Frame& frame) const {
  Pair size{frame[height], frame[width]};
  Pair original = frame.maybe(original_size).value_or(size);
  Pair corner = frame.maybe(crop).value_or(Pair{0, 0});
  Pair target = frame.maybe(target_size).value_or(size);
  if (frame.renamed(prompt)) {
    auto other_original = frame.maybe(negative_original_size);
    auto other_target = frame.maybe(negative_target_size);
    bool both = other_original && other_target;
    if (from_noise_ && both) corner = frame.maybe(negative_crop).value_or(Pair{0, 0});
    if (!from_noise_ || both) {
      original = other_original.value_or(original);
      target = other_target.value_or(target);
    }
  }
  frame[add_time_ids] = row_of({original, corner, target});
}

void HiresTimeIds::run(Frame& frame) const {
  Pair size{frame[hires_height], frame[hires_width]};
  Pair original = frame.maybe(original_size).value_or(size);
  Pair target = frame.maybe(target_size).value_or(size);
  auto other_original = frame.maybe(negative_original_size);
  auto other_target = frame.maybe(negative_target_size);
  // As in the first pass: only where both are given.
  if (frame.renamed(prompt) && other_original && other_target) {
    original = *other_original;
    target = *other_target;
  }
  frame[hires_time_ids] = row_of({original, frame.maybe(crop).value_or(Pair{0, 0}), target});
}

void AestheticTimeIds::check(Checks& checks) const {
  for (const auto* size : {&original_size, &negative_original_size})
    check_pair(checks, *size, size_names);
  for (const auto* corner : {&crop, &negative_crop}) check_pair(checks, *corner, corner_names);
  if (has_negative(checks)) return;
  checks.unused(negative_original_size, no_guidance, more_guidance);
  checks.unused(negative_crop, no_guidance, more_guidance);
  checks.unused(negative_score, no_guidance, more_guidance);
}

void AestheticTimeIds::run(Frame& frame) const {
  Pair original = frame.maybe(original_size).value_or(Pair{frame[height], frame[width]});
  if (!frame.renamed(prompt)) {
    frame[add_time_ids] = row_of({original, frame.maybe(crop).value_or(Pair{0, 0})}, frame[score]);
    return;
  }
  frame[add_time_ids] = row_of({frame.maybe(negative_original_size).value_or(original),
                                frame.maybe(negative_crop).value_or(Pair{0, 0})},
                               frame[negative_score]);
}

}  // namespace omnirt::families
