// Codecs of values that hold others.
#include <fmt/format.h>

#include "blocks/ip_adapter.hpp"
#include "blocks/windows.hpp"
#include "pipeline/nested_value.hpp"

namespace omnirt {
namespace {

using blocks::ImagePromptValues;
using blocks::WindowState;

// The lists of one image prompt, by name.
void each_list(auto& prompt, auto&& visit) {
  visit("keys", prompt.keys);
  visit("values", prompt.values);
  visit("masks", prompt.masks);
}

void check_prompt(const ImagePromptValues::Prompt& prompt) {
  if (prompt.keys.size() != prompt.values.size())
    SavedValue::refuse("image prompts with keys and values of different layers");
  for (const auto* list : {&prompt.keys, &prompt.values}) {
    for (const Value& value : *list) {
      if (value.tensor().dim() != 3 || value.tensor().size(0) != 2)
        SavedValue::refuse("an image prompt that is not {2, tokens, width}");
    }
  }
}

using ListCodec = ValueCodec<std::vector<Value>>;

}  // namespace

SavedValue ValueCodec<ImagePromptValues>::save(const ImagePromptValues& value) {
  SavedValue saved{{{"count", value.prompts.size()}}};
  for (size_t i = 0; i < value.prompts.size(); ++i) {
    each_list(value.prompts[i], [&](const char* name, const std::vector<Value>& list) {
      nest(saved, fmt::format("{}.{}", name, i), ListCodec::save(list));
    });
  }
  return saved;
}

ImagePromptValues ValueCodec<ImagePromptValues>::load(const SavedValue& saved,
                                                      const Catalogue& catalogue) {
  ImagePromptValues value;
  size_t count = nested_count(saved);
  for (size_t i = 0; i < count; ++i) {
    each_list(value.prompts.emplace_back(), [&](const char* name, std::vector<Value>& list) {
      list = ListCodec::load(nested(saved, fmt::format("{}.{}", name, i)), catalogue);
    });
    check_prompt(value.prompts.back());
  }
  return value;
}

SavedValue ValueCodec<WindowState>::save(const WindowState& value) {
  Json places = Json::array();
  for (const blocks::Window& at : value.windows)
    places.push_back({at.top, at.bottom, at.left, at.right});
  SavedValue saved{{{"count", value.schedules.size()}, {"windows", places}, {"rows", value.rows}}};
  for (size_t i = 0; i < value.schedules.size(); ++i)
    nest(saved, fmt::format("schedule.{}", i), ValueCodec<Schedule>::save(value.schedules[i]));
  saved.json["states"] = value.states.size();
  for (size_t i = 0; i < value.states.size(); ++i)
    nest(saved, fmt::format("state.{}", i),
         ValueCodec<blocks::DenoiseState>::save(value.states[i]));
  return saved;
}

WindowState ValueCodec<WindowState>::load(const SavedValue& saved, const Catalogue& catalogue) {
  WindowState value;
  for (const auto& place : saved.get<std::vector<std::array<int64_t, 4>>>("windows"))
    value.windows.push_back({place[0], place[1], place[2], place[3]});
  size_t count = nested_count(saved);
  for (size_t i = 0; i < count; ++i) {
    value.schedules.push_back(
        ValueCodec<Schedule>::load(nested(saved, fmt::format("schedule.{}", i)), catalogue));
  }
  auto states = saved.get<uint64_t>("states");
  for (uint64_t i = 0; i < states && i < value.windows.size(); ++i) {
    value.states.push_back(ValueCodec<blocks::DenoiseState>::load(
        nested(saved, fmt::format("state.{}", i)), catalogue));
  }
  for (uint64_t rows : saved.get<std::vector<uint64_t>>("rows")) value.rows.push_back(rows);
  return value;
}

}  // namespace omnirt
