#pragma once
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "blocks/slots.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/loop.hpp"
#include "pipeline/prompt_keys.hpp"
#include "pipeline/value_codec.hpp"

namespace omnirt::blocks {

// What a network is given of a prompt that changes with the step.
struct PromptTurns {
  std::vector<int64_t> by_step;          // which turn, for each step; empty: there is one
  std::map<std::string, Tensor> inputs;  // {turns, B, ...}, by the network's names
};

// The prompts of each turn, as many as there are prompts, for each step.
struct TextTurns {
  std::vector<std::vector<std::string>> prompts;
  std::vector<int64_t> by_step;  // as in PromptTurns
};
// Throws InvalidRequest under `field` as text::schedule_of does, and for more than
// text::max_prompt_turns of all prompts together.
TextTurns turns_of(const std::vector<std::string>& prompts, const std::string& field,
                   int64_t steps);

// `inputs`: of each turn {B, ...}, by the network's names; nothing where there is one turn.
PromptTurns stacked_turns(const TextTurns& texts,
                          const std::map<std::string, std::vector<Tensor>>& inputs);

// What is wrong with turns that a saved run brings for the network's `input`: each must be like the
// first one's, the value `name`, which other checks look at (null: there is none). "" where nothing
// is.
std::string turns_fault(const PromptTurns& given, const std::string& input, const Tensor* first,
                        const std::string& name);

}  // namespace omnirt::blocks

template <>
struct omnirt::ValueCodec<omnirt::blocks::PromptTurns> {
  static constexpr const char* type = "prompt turns";
  static SavedValue save(const blocks::PromptTurns& value);
  static blocks::PromptTurns load(const SavedValue& saved, const Catalogue& catalogue);
};

namespace omnirt::slots {

inline constexpr Slot<blocks::PromptTurns> prompt_turns{
    "prompt_turns", "what the prompt means at each step, where it changes"};

}  // namespace omnirt::slots

namespace omnirt::blocks {

// Gives the network at each step the prompt of that step. Comes before the blocks that look at the
// network's inputs.
class TakePromptTurns final : public StepBlock {
 public:
  // An input of the network, and what the first turn's is passed on as.
  struct Turned {
    std::string input;
    const Slot<Tensor>& slot;
  };
  Input<PromptTurns> turns{this, slots::prompt_turns};

  explicit TakePromptTurns(const std::vector<Turned>& turned);
  void before_predict(Frame& frame, const LoopProgress& at, RowBatch& batch) const override;
  void check_loaded(Checks& checks) const override;

 private:
  struct First {
    First(Block* block, const Turned& turned) : port(block, turned.slot), input(turned.input) {}
    Input<Tensor> port;
    std::string input;
  };
  Tensor rows_of(Frame& frame, const RowBatch& batch, const First& first,
                 const LoopProgress& at) const;
  std::deque<First> firsts_;
};

}  // namespace omnirt::blocks
