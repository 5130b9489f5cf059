#include "families/flux/redux.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include "base/path_text.hpp"
#include "blocks/clip_image.hpp"
#include "blocks/control_values.hpp"

namespace omnirt::flux {
namespace {

constexpr size_t most_redux_images = 16;
constexpr double largest_redux_scale = 100;

// {images, 1, 1}.
Tensor scales_of(const Json& given, size_t images) {
  std::vector<double> all;
  for (size_t i = 0; i < images; ++i) all.push_back(blocks::part_of(given, i));
  return at::tensor(all, at::kDouble).to(at::kFloat).view({-1, 1, 1});
}

// {texts, 1, 1}: 0 for those that say nothing.
Tensor says_something(const std::vector<std::string>& prompts,
                      const std::vector<std::string>* others) {
  std::vector<double> all;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const bool other = others && i < others->size() && !(*others)[i].empty();
    all.push_back(prompts[i].empty() && !other ? 0.0 : 1.0);
  }
  return at::tensor(all, at::kDouble).to(at::kFloat).view({-1, 1, 1});
}

}  // namespace

EncodeRedux::EncodeRedux()
    : Block("encode_prompt_redux", Stage::prepare_conditions, Guidance::per_condition,
            has("redux_image")) {}

void EncodeRedux::settle_image_processor(Checks& checks) const {
  const ComponentFolder* folder = checks.folder(feature_extractor);
  if (auto given = checks.maybe(image_processor)) {
    blocks::read_siglip_image_processor(*given, "config." + image_processor.name());
  } else if (folder) {
    blocks::read_siglip_image_processor(folder->config, path_text(folder->config_file));
    checks.settle(image_processor, folder->config, Origin::model);
  } else {
    checks.settle(image_processor, {{"size", checks[image_encoder].image_size()}}, Origin::derived);
  }
}

void EncodeRedux::check(Checks& checks) const {
  const size_t images = checks.images(redux_image).size();
  if (images > most_redux_images)
    checks.error({"inputs.redux_image", fmt::format("{} images", images),
                  fmt::format("more than {}", most_redux_images), "give fewer"});
  blocks::check_parts(checks, scale, images, -largest_redux_scale, largest_redux_scale);
  blocks::check_parts(checks, pooled_scale, images, -largest_redux_scale, largest_redux_scale);
  const ReduxImageEncoder& embedder = checks[image_embedder];
  auto differs = [&](const char* component, int64_t has, int64_t wanted, const char* whose) {
    if (has == wanted) return;
    checks.error({fmt::format("components.{}", component), std::to_string(has),
                  fmt::format("{} has states {} wide", whose, wanted),
                  "give the part that was made for this model"});
  };
  differs("image_encoder", checks[image_encoder].hidden_size(), embedder.redux_dim(),
          "components.image_embedder");
  differs("image_embedder", embedder.context_dim(), checks[transformer].context_dim(),
          "the transformer");
  settle_image_processor(checks);
}

Tensor EncodeRedux::encoded(Frame& frame) const {
  auto settings = blocks::read_siglip_image_processor(frame[image_processor],
                                                      "config." + image_processor.name());
  std::vector<Tensor> prepared;
  for (const io::Image& each : frame[redux_image])
    prepared.push_back(blocks::clip_pixel_values(each, settings));
  Values states = frame.call(image_encoder, {{"pixel_values", {at::cat(prepared)}}},
                             [](const SiglipVisionModel& encoder, Context& cx, const Values& in) {
                               return encoder.forward(cx, one(in, "pixel_values"));
                             });
  return host(frame.call(image_embedder, {{"states", {one(states)}}},
                         [](const ReduxImageEncoder& network, Context& cx, const Values& in) {
                           return network.forward(cx, one(in, "states"));
                         }))
      .to(at::kFloat);
}

void EncodeRedux::run(Frame& frame) const {
  if (frame.renamed(prompt)) return;  // the negative prompt has no images
  const Tensor images = encoded(frame);
  const auto count = static_cast<size_t>(images.size(0));
  const Tensor by = scales_of(frame[scale], count);
  const Tensor said = says_something(frame[prompt], frame[prompt_2]);
  Tensor &text = frame[prompt_embeds], &whole = frame[pooled];
  const int64_t rows = text.size(0);
  const Tensor of_row = said.repeat_interleave(rows / said.size(0), 0);
  const Tensor shown = (images * by).sum(0, /*keepdim=*/true);
  text = at::cat({text * of_row * by.sum(), shown.expand({rows, shown.size(1), shown.size(2)})}, 1);
  whole = whole * of_row.squeeze(2) * scales_of(frame[pooled_scale], count).sum();
}

}  // namespace omnirt::flux
