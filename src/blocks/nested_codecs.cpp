// Codecs of values that hold others.
#include <fmt/format.h>

#include "blocks/ip_adapter.hpp"
#include "pipeline/nested_value.hpp"

namespace omnirt {
namespace {

using blocks::ImagePromptValues;

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

}  // namespace omnirt
