#include "blocks/padded_embeds.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

namespace omnirt::blocks {
namespace {

PaddedEmbeds padded(std::vector<Tensor> each, size_t images) {
  int64_t longest = 0, shortest = each.front().size(1);
  for (const Tensor& embeds : each) {
    longest = std::max(longest, embeds.size(1));
    shortest = std::min(shortest, embeds.size(1));
  }
  const auto repeats = static_cast<int64_t>(images / each.size());
  Tensor mask = at::zeros({static_cast<int64_t>(each.size()), longest}, at::kFloat);
  for (size_t i = 0; i < each.size(); ++i) {
    int64_t tokens = each[i].size(1);
    mask.select(0, static_cast<int64_t>(i)).narrow(0, 0, tokens).fill_(1);
    each[i] = at::constant_pad_nd(each[i], {0, 0, 0, longest - tokens});
  }
  return {at::cat(each).repeat_interleave(repeats, 0),
          shortest < longest ? mask.repeat_interleave(repeats, 0) : Tensor()};
}

}  // namespace

Tensor PaddedEmbeds::whole_mask() const {
  return mask.defined() ? mask : at::ones({embeds.size(0), embeds.size(1)}, at::kFloat);
}

PaddedEmbeds padded_embeds(const std::vector<std::string>& prompts, size_t images,
                           const std::function<Tensor(const std::string&)>& states) {
  std::vector<Tensor> each;
  for (const std::string& prompt : prompts) each.push_back(states(prompt));
  if (prompts.empty()) each.push_back(states(""));
  return padded(std::move(each), images);
}

}  // namespace omnirt::blocks
