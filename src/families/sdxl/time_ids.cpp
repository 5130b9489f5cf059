#include "families/sdxl/time_ids.hpp"

#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <algorithm>

#include "request/proposal.hpp"

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
void check_pairs(Proposal& proposal, const Block& block) {
  for (const PortInfo& port : block.ports()) {
    if (!port.key || port.key->type != KeyInfo::Type::list) continue;
    const ConfigValue* given = proposal.config.find(port.name);
    if (!given || given->value.is_null() || given->value.size() == 2) continue;
    bool corner = port.name.find("crop") != std::string::npos;
    proposal.error({"config." + port.name, shown(given->value),
                    fmt::format("{} numbers, where two are expected", given->value.size()),
                    corner ? "give [top, left]" : "give [height, width]"});
  }
}

bool has_negative(const Proposal& proposal) {
  return std::ranges::any_of(proposal.guider->conditions(), &Condition::negative);
}

const std::vector<const KeyInfo*>& negative_keys() {
  static const std::vector<const KeyInfo*> all{
      &keys::negative_original_size, &keys::negative_crops_coords_top_left,
      &keys::negative_target_size, &keys::negative_aesthetic_score};
  return all;
}

// Without guidance there is nothing that negative sizes could belong to.
bool warn_without_guidance(Proposal& proposal) {
  if (has_negative(proposal)) return false;
  for (const KeyInfo* key : negative_keys()) {
    proposal.unused(*key, "has no effect without guidance",
                    "raise guidance_scale above 1, or remove it");
  }
  return true;
}

}  // namespace

void TimeIds::check(Proposal& proposal) const {
  check_pairs(proposal, *this);
  if (warn_without_guidance(proposal)) return;
  if (!from_noise_) {
    proposal.unused(negative_crop.key,
                    fmt::format("has no effect on task {}: the prompt's corner serves both, as "
                                "in the reference",
                                proposal.task),
                    "remove it");
    return;
  }
  if (proposal.config.maybe(negative_original_size.key) &&
      proposal.config.maybe(negative_target_size.key))
    return;
  for (const KeyInfo* key : negative_keys()) {
    proposal.unused(*key,
                    "has no effect unless negative_original_size and negative_target_size are "
                    "both given, as in the reference",
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

void AestheticTimeIds::check(Proposal& proposal) const {
  check_pairs(proposal, *this);
  warn_without_guidance(proposal);
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
