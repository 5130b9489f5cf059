#pragma once
#include "blocks/hires.hpp"
#include "blocks/image_size.hpp"

namespace omnirt::blocks {

// Of tokens, in height and in width.
struct TokenSides {
  int64_t height, width;
};

// The second pass's size in whole tokens of a transformer that has positions for `most` of them.
template <class Network>
class HiresSizeInTokens final : public HiresSize {
 public:
  Described<Network> transformer{this, "transformer"};

  HiresSizeInTokens(Trigger trigger, TokenSides (*most)(const Network&))
      : HiresSize(std::move(trigger)), most_(most) {}

  void check(Checks& checks) const override {
    HiresSize::check(checks);
    const int64_t token = grid(checks);
    const TokenSides most = most_(checks[transformer]);
    if (auto high = checks.maybe(hires_height))
      check_positions(checks, hires_height, *high, most.height * token);
    if (auto wide = checks.maybe(hires_width))
      check_positions(checks, hires_width, *wide, most.width * token);
  }

 protected:
  int64_t grid(const Checks& checks) const override {
    return HiresSize::grid(checks) * checks[transformer].patch_size();
  }

 private:
  TokenSides (*most_)(const Network&);
};

}  // namespace omnirt::blocks
