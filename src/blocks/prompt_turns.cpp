#include "blocks/prompt_turns.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>
#include <fmt/format.h>

#include <algorithm>

#include "blocks/encoded_prompt.hpp"
#include "pipeline/checks.hpp"
#include "text/prompt_schedule.hpp"

namespace omnirt {

using blocks::PromptTurns;

SavedValue ValueCodec<PromptTurns>::save(const PromptTurns& value) {
  SavedValue saved{{{"by_step", value.by_step}}};
  saved.tensors = value.inputs;
  return saved;
}

PromptTurns ValueCodec<PromptTurns>::load(const SavedValue& saved, const Catalogue&) {
  PromptTurns value{saved.get<std::vector<int64_t>>("by_step"), saved.tensors};
  int64_t turns = 0;
  for (const auto& [name, tensor] : value.inputs) {
    if (!tensor.defined() || tensor.dim() < 2 || tensor.size(0) < 1 || !tensor.is_floating_point())
      SavedValue::refuse("a prompt's turns that are not {turns, images, ...}");
    if (turns > 0 && tensor.size(0) != turns)
      SavedValue::refuse("a prompt of other turns for other inputs");
    turns = tensor.size(0);
  }
  for (int64_t turn : value.by_step) {
    if (turn < 0 || turn >= turns) SavedValue::refuse("a step of a turn that is not there");
  }
  return value;
}

}  // namespace omnirt

namespace omnirt::blocks {

TextTurns turns_of(const std::vector<std::string>& prompts, const std::string& field,
                   int64_t steps) {
  std::vector<text::ScheduledText> read;
  for (const std::string& prompt : prompts) read.push_back(text::schedule_of(prompt, field, steps));
  TextTurns made;
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<std::string> now;
    for (const text::ScheduledText& each : read) {
      auto turn = each.by_step.empty() ? 0 : each.by_step[static_cast<size_t>(step)];
      now.push_back(each.texts[static_cast<size_t>(turn)]);
    }
    auto known = std::ranges::find(made.prompts, now);
    made.by_step.push_back(known - made.prompts.begin());
    if (known == made.prompts.end()) made.prompts.push_back(std::move(now));
    if (made.prompts.size() > text::max_prompt_turns) {
      throw InvalidRequest(Finding{field, fmt::format("{} prompts", prompts.size()),
                                   fmt::format("together they change more than {} times over the "
                                               "steps",
                                               text::max_prompt_turns),
                                   "send several requests"});
    }
  }
  if (made.prompts.size() == 1) made.by_step.clear();
  return made;
}

PromptTurns stacked_turns(const TextTurns& texts,
                          const std::map<std::string, std::vector<Tensor>>& inputs) {
  if (texts.by_step.empty()) return {};
  PromptTurns made{texts.by_step, {}};
  for (const auto& [name, turns] : inputs) made.inputs[name] = at::stack(turns);
  return made;
}

std::string turns_fault(const PromptTurns& given, const std::string& input, const Tensor* first,
                        const std::string& name) {
  auto turns = given.inputs.find(input);
  if (turns == given.inputs.end()) return given.by_step.empty() ? "" : "has no " + input;
  bool fits = first && first->defined() && turns->second[0].sizes() == first->sizes() &&
              turns->second.scalar_type() == first->scalar_type();
  return fits ? "" : "has other sizes than " + name;
}

TakePromptTurns::TakePromptTurns(const std::vector<Turned>& turned)
    : StepBlock(
          "take_prompt_turns", Stage::denoise_loop, Guidance::takes_over,
          !has_encoded_prompt() && chosen(keys::prompt_syntax.name, name_of(PromptSyntax::a1111))) {
  for (const Turned& each : turned) firsts_.emplace_back(this, each);
}

// Of what `at` says the turn is, for each row of the batch: {rows, ...}.
Tensor TakePromptTurns::rows_of(Frame& frame, const RowBatch& batch, const First& first,
                                const LoopProgress& at) const {
  std::vector<Condition> conditions = frame.guider().conditions();
  std::vector<Tensor> rows;
  for (const RowId& row : batch.rows) {
    const std::string& condition = conditions.at(row.condition).name;
    const PromptTurns& given = frame.under(condition, turns);
    // Schedulers of several calls per step: as far along as the calls are.
    size_t turn = 0, steps = given.by_step.size();
    if (steps > 0)
      turn = static_cast<size_t>(given.by_step[std::min(at.step * steps / at.steps, steps - 1)]);
    auto made = given.inputs.find(first.input);
    Tensor all = made == given.inputs.end() ? frame.under(condition, first.port)
                                            : made->second[static_cast<int64_t>(turn)];
    // Windows of an image have numbers of their own.
    rows.push_back(all.narrow(0, row.image % all.size(0), 1));
  }
  return at::cat(rows);
}

void TakePromptTurns::before_predict(Frame& frame, const LoopProgress& at, RowBatch& batch) const {
  bool changes = false;
  for (const Condition& condition : frame.guider().conditions())
    changes = changes || !frame.under(condition.name, turns).by_step.empty();
  if (!changes) return;
  for (const First& first : firsts_)
    batch.inputs[first.input] = {Value(rows_of(frame, batch, first, at))};
}

void TakePromptTurns::check_loaded(Checks& checks) const {
  auto all = checks.restored(turns);
  for (const First& first : firsts_) {
    auto firsts = checks.restored(first.port);
    for (size_t i = 0; i < all.size(); ++i) {
      const Tensor* one = i < firsts.size() ? firsts[i] : nullptr;
      std::string fault = all[i] ? turns_fault(*all[i], first.input, one, first.port.name()) : "";
      if (!fault.empty()) checks.refuse_restored(turns, fault);
    }
  }
}

}  // namespace omnirt::blocks
