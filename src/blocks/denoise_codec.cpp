#include "blocks/denoise.hpp"

namespace omnirt {

SavedValue ValueCodec<blocks::DenoiseState>::save(const blocks::DenoiseState& value) {
  // Site plans follow from the guider's conditions.
  return {{{"index", value.index}, {"end", value.end}, {"asked", value.asked}}, value.guider};
}

blocks::DenoiseState ValueCodec<blocks::DenoiseState>::load(const SavedValue& saved,
                                                            const Catalogue&) {
  blocks::DenoiseState state{saved.get<uint64_t>("index"), saved.get<uint64_t>("end"),
                             saved.get<std::vector<std::string>>("asked"), saved.tensors};
  if (state.index > state.end) SavedValue::refuse("the loop stands after its end");
  return state;
}

}  // namespace omnirt
