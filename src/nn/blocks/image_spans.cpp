#include "nn/blocks/image_spans.hpp"

#include "base/ensure.hpp"
#include "nn/layout.hpp"

namespace omnirt::nn {
namespace {

// x with each span's part made anew by `made`(what is there, its image).
template <class Made>
Tensor with_parts(Context& cx, const Tensor& x, const Tensor& images,
                  const std::vector<ImageSpan>& spans, Made made) {
  const Tensor all_images = in_form(cx, images);
  Tensor all;
  auto add = [&](const Tensor& part) {
    if (part.size(1) > 0) all = all.defined() ? cx.ops().concat(cx, {all, part}) : part;
  };
  int64_t at = 0, used = 0;
  for (const ImageSpan& span : spans) {
    add(x.narrow(1, at, span.first - at));
    add(made(x.narrow(1, span.first, span.tokens), all_images.narrow(1, used, span.tokens)));
    at = span.first + span.tokens;
    used += span.tokens;
  }
  ensure(used == images.size(1), "{} places for {} tokens of images", used, images.size(1));
  add(x.narrow(1, at, x.size(1) - at));
  return all;
}

}  // namespace

Tensor placed_at(Context& cx, const Tensor& x, const Tensor& images,
                 const std::vector<ImageSpan>& spans) {
  return with_parts(cx, x, images, spans, [](const Tensor&, const Tensor& image) { return image; });
}

Tensor added_at(Context& cx, const Tensor& x, const Tensor& images,
                const std::vector<ImageSpan>& spans) {
  return with_parts(cx, x, images, spans, [&cx](const Tensor& there, const Tensor& image) {
    return cx.ops().add(cx, {there, image});
  });
}

}  // namespace omnirt::nn
