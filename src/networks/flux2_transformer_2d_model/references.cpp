// Reference images whose keys and values are kept.
#include "networks/flux2_transformer_2d_model/model.hpp"

namespace omnirt {

Tensor Flux2Transformer2DModel::reference_modulation(Context& cx, const Flux2Input& input,
                                                     const Flux2Modulation& of) const {
  return cx.once("references by " + of.path(), input.kept->latents.tensor, [&] {
    Tensor any = input.timestep.to(at::kFloat).narrow(0, 0, 1), guidance;
    if (input.guidance) guidance = input.guidance->narrow(0, 0, 1);
    Tensor zero = cx.ops().affine(cx, {any, 0.0, 0.0});
    return of.linear.forward(cx, activated(cx, zero, input.guidance ? &guidance : nullptr));
  });
}

std::unique_ptr<nn::KeptTokens> Flux2Transformer2DModel::references(Context& cx,
                                                                    const Flux2Input& input) const {
  if (!input.kept) return nullptr;
  const nn::DistinctRows& given = input.kept->latents;
  ensure(given.rows.empty() || given.tensor.size(0) == 1, "{} images to go by in one batch",
         given.tensor.size(0));
  const Tensor at = cx.once("rotary of references", given.tensor, [&] {
    return nn::rope_table(cx, input.kept->ids.tensor.select(0, 0), config_.axes_dims_rope,
                          config_.rope_theta);
  });
  const auto by = double_stream_modulation_img.sets_of(
      reference_modulation(cx, input, double_stream_modulation_img));
  const auto single =
      single_stream_modulation.sets_of(reference_modulation(cx, input, single_stream_modulation));
  std::vector<nn::KeptTokens::Block> blocks;
  auto add = [&](const auto& block, const auto& modulation, std::vector<std::string> parts) {
    auto read = [&cx, &block, at, modulation](const Tensor& x, nn::KeysAndValues& made,
                                              bool keys_alone) {
      return block.read_references(cx, x, modulation, at, made, keys_alone);
    };
    blocks.push_back({block.path(), std::move(parts), read});
  };
  for (size_t i = 0; i < transformer_blocks.size(); ++i)
    add(transformer_blocks[i], by, {transformer_blocks[i].ff.path()});
  for (size_t i = 0; i < single_transformer_blocks.size(); ++i)
    add(single_transformer_blocks[i], single[0], {});
  nn::KeptTokens::Call call{given.tensor, x_embedder.forward_once(cx, given.tensor)};
  return std::make_unique<nn::KeptTokens>(cx, std::move(blocks), std::move(call));
}

}  // namespace omnirt
