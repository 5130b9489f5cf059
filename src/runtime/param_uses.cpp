#include "runtime/param_uses.hpp"

#include <algorithm>

namespace omnirt {
namespace {

std::string layer_of(const std::string& parameter) {
  return parameter.substr(0, std::min(parameter.size(), parameter.rfind('.')));
}

}  // namespace

ParamUse param_use(const DryUse& use, const Weight& weight, const ComputeForm& form,
                   WeightPlace place) {
  ParamUse made{use.param.index, layer_of(use.param.name), use.segment,
                Binding::bytes_in_memory(weight, form), use.param.shape.size() < 2};
  if (place == WeightPlace::device) {
    made.bytes = BlockMap::rounded(made.bytes);
    return made;
  }
  if (made.bytes != weight.bytes) made.made_of = weight.bytes;
  // Of a table that is read as it is stored, only the rows that are asked for come in.
  if (use.op != ops::Embedding::name) return made;
  made.stays = true;
  if (made.bytes == weight.bytes) made.bytes = 0;
  return made;
}

std::vector<ParamUse> param_uses(const DryForward& call, const WeightStore& store,
                                 const ComputeForm& form, WeightPlace place) {
  std::vector<ParamUse> uses;
  for (const DryUse& use : call.uses)
    uses.push_back(param_use(use, *store.all().at(use.param.name), form, place));
  return uses;
}

}  // namespace omnirt
