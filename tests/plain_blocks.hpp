#pragma once
#include "pipeline/block_list.hpp"

// Two blocks for tests of lists, plans and drawings: one makes a number of the prompt, the other
// takes it. Neither does anything.
namespace omnirt::testing {

class Maker final : public Block {
 public:
  Input<std::vector<std::string>> prompt{this, "prompt", "words"};
  Output<double> number{this, "number", "a number"};
  explicit Maker(std::string name, Trigger trigger = {})
      : Block(std::move(name), Stage::prepare_conditions, Guidance::shared, std::move(trigger)) {}
  void run(Frame&) const override {}
};

class Taker final : public Block {
 public:
  Input<double> number{this, "number", "a number"};
  explicit Taker(std::string name) : Block(std::move(name), Stage::decode) {}
  void run(Frame&) const override {}
};

inline BlockList two() {
  return {std::make_shared<Maker>("maker"), std::make_shared<Taker>("taker")};
}

}  // namespace omnirt::testing
