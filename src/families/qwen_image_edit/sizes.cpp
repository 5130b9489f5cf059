#include "families/qwen_image_edit/sizes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/path_text.hpp"
#include "blocks/image_size.hpp"
#include "blocks/text_width.hpp"

namespace omnirt::qwen_image_edit {

Trigger takes_several_images() {
  return index_is("_class_name", "QwenImageEditPlusPipeline");
}

namespace {

bool check_edit_image(Checks& checks, const std::string& field, const io::ImageInfo& info) {
  Size size = size_of_area(looked_at_area, info.height, info.width);
  if (std::min(size.height, size.width) > 0) return true;
  checks.error({field, fmt::format("{}x{}", info.width, info.height),
                "one side is so much longer than the other that nothing is left of it",
                "give another image"});
  return false;
}

}  // namespace

void CheckEdit::check_parts(Checks& checks) const {
  int64_t in = checks[transformer].in_channels(), latents = checks[vae].latent_channels();
  if (in != latents || checks[transformer].out_channels() != in) {
    checks.error({"transformer.in_channels", std::to_string(in),
                  fmt::format("the autoencoder's latents have {} channels", latents),
                  "use the autoencoder of the same model"});
  }
  blocks::check_text_width(checks, "text_encoder.hidden_size", checks[text_encoder].hidden_size(),
                           checks[transformer].context_dim());
  if (!checks[text_encoder].vision()) {
    checks.error({"text_encoder", "", "its weights have no vision tower, which edits look with",
                  "use the text encoder of the model's own folder"});
  }
}

bool CheckEdit::check_takes(Checks& checks, size_t images) const {
  const bool single = !checks.holds(takes_several_images());
  if (single && images > 1) {
    checks.error({"inputs.image_reference", "", "this model takes one image",
                  "remove it, or use qwen-image-edit-2509 or later"});
    return false;
  }
  const ImageInput* painted = checks.image(mask);
  if (single || !painted) return true;
  checks.error({"inputs.mask", path_text(painted->path),
                "models that take several images inpaint nothing: the reference has no such "
                "pipeline",
                "remove it, or use qwen-image-edit"});
  return false;
}

void CheckEdit::check(Checks& checks) const {
  check_parts(checks);
  const ImageInput* first = checks.image(image);
  if (!first) return;  // it was refused
  std::vector<std::pair<std::string, io::ImageInfo>> all{{"inputs.image", first->info}};
  for (const ImageInput& each : checks.images(references))
    all.emplace_back(fmt::format("inputs.image_reference[{}]", all.size() - 1), each.info);
  if (!check_takes(checks, all.size())) return;
  for (const auto& [field, info] : all)
    if (!check_edit_image(checks, field, info)) return;
  const io::ImageInfo& last = all.back().second;
  const Size size = size_of_area(latents_area, last.height, last.width);
  const int64_t grid = checks[vae].factors().side * checks[transformer].patch_size();
  for (const auto& [port, side] : {std::pair{&width, size.width}, {&height, size.height}}) {
    if (auto given = checks.maybe(*port))
      blocks::check_grid(checks, *port, *given, grid);
    else
      checks.settle(*port, side / grid * grid, Origin::derived);
  }
}

void CheckEdit::tell_sizes(const Checks& checks, SymbolSizes& sizes) const {
  blocks::tell_image_sizes(checks[width], checks[height], checks[vae], sizes);
}

}  // namespace omnirt::qwen_image_edit
