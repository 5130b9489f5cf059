#include "blocks/ip_adapter.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/upsample_bicubic2d.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/path_text.hpp"
#include "blocks/clip_image.hpp"
#include "blocks/control_values.hpp"
#include "blocks/ip_adapter_scale.hpp"
#include "io/image_resize.hpp"
#include "networks/unet_2d_condition_model/model.hpp"
#include "pipeline/numbered.hpp"
#include "tensor/image_tensor.hpp"

namespace omnirt::blocks {
namespace {

// A mask's tokens at a layer of `queries`: the side lengths follow from the mask's, as if the
// image had them too (reference: IPAdapterMaskProcessor.downsample).
Tensor mask_tokens(const Tensor& mask, int64_t queries) {
  const auto of = nn::LatentGrid::of(mask);
  double ratio = static_cast<double>(of.width) / static_cast<double>(of.height);
  auto height = static_cast<int64_t>(std::sqrt(static_cast<double>(queries) / ratio));
  height = std::max<int64_t>(height, 1);
  height += queries % height != 0 ? 1 : 0;
  int64_t width = std::max<int64_t>(queries / height, 1);
  Tensor flat =
      at::upsample_bicubic2d(mask, {height, width}, /*align_corners=*/false).view({1, -1});
  int64_t missing = queries - flat.size(1);
  flat = missing > 0 ? at::constant_pad_nd(flat, {0, missing}) : flat.narrow(1, 0, queries);
  return flat.view({1, queries, 1});
}

// {1, 1, H, W} of zeros and ones.
Tensor mask_pixels(const io::Image& image, int64_t height, int64_t width) {
  io::Image sized = image;
  if (sized.width != width || sized.height != height)
    sized = io::resize_lanczos(sized, width, height);
  return (image_to_tensor(io::to_grey(sized)) >= 0.5).to(at::kFloat);
}

// Rows of images, then as many that represent none; of `count` images from `first` on: {2, images
// tokens, width}.
Tensor of_images(const Tensor& rows, int64_t first, int64_t count) {
  return rows.unflatten(0, {2, rows.size(0) / 2}).narrow(1, first, count).flatten(1, 2);
}

constexpr const char* keys_input = "ip_adapter_keys";
constexpr const char* values_input = "ip_adapter_values";
constexpr const char* masks_input = "ip_adapter_masks";

// Adds values to an input that is a list, with the batch's rows.
void append(RowBatch& batch, const char* input, const std::vector<Value>& values,
            const std::vector<int64_t>& rows) {
  for (const Value& value : values) batch.inputs[input].push_back(value.with_rows(rows));
}

}  // namespace

std::string ImagePrompt::name(const std::string& what) const {
  return numbered("ip_adapter", place_) + "_" + what;
}

ImagePrompt::ImagePrompt(size_t place)
    : StepBlock(numbered("ip_adapter", place), Stage::denoise_loop, Guidance::shared,
                has_component(numbered("ip_adapter", place))),
      ip_adapter(this, numbered("ip_adapter", place)),
      image(this, numbered("ip_adapter", place) + "_image",
            "the image that components." + numbered("ip_adapter", place) + " reads"),
      values(this, numbered("ip_adapter", place) + "_prompts", "keys and values of the images"),
      place_(place) {
  for (size_t i = 1; i < most_controls; ++i)
    further_images_.emplace_back(this, numbered(name("image"), i), "a further image beside it");
  for (size_t i = 0; i < most_controls; ++i)
    mask_ports_.emplace_back(this, numbered(name("masks"), i),
                             "white where the image is the prompt");
}

std::vector<const io::Image*> ImagePrompt::images_of(Frame& frame) const {
  std::vector<const io::Image*> all{&frame[image]};
  for (const auto& port : further_images_) {
    if (const io::Image* given = frame[port]) all.push_back(given);
  }
  return all;
}

std::vector<const io::Image*> ImagePrompt::masks_given(Frame& frame) const {
  std::vector<const io::Image*> all;
  for (const auto& port : mask_ports_) {
    if (const io::Image* given = frame[port]) all.push_back(given);
  }
  return all;
}

// {images, ...}: what the adapter reads.
Tensor ImagePrompt::encoded(Frame& frame, const Tensor& pixels) const {
  bool embeds = frame[ip_adapter].reads_embeds();
  return one(frame.call(
      image_encoder, {{"pixel_values", {pixels}}},
      [embeds](const CLIPVisionModel& encoder, Context& cx, const Values& in) {
        const Tensor& prepared = one(in, "pixel_values");
        return embeds ? encoder.forward(cx, prepared).image_embeds
                      : encoder.penultimate(cx, prepared);
      },
      embeds ? "embeds" : "penultimate"));
}

void ImagePrompt::run(Frame& frame) const {
  auto settings = read_clip_image_processor(frame[image_processor], "config.image_processor");
  std::vector<Tensor> prepared;
  for (const io::Image* each : images_of(frame))
    prepared.push_back(clip_pixel_values(*each, settings));
  Tensor pixels = at::cat(prepared);
  Tensor positive = encoded(frame, pixels);
  // What represents no image: no embedding, or the states of a black one.
  Tensor negative = frame[ip_adapter].reads_embeds() ? at::zeros_like(positive)
                                                     : encoded(frame, at::zeros_like(pixels));
  Values made =
      frame.call(ip_adapter, {{"image", {at::cat({positive, negative})}}},
                 [](const IPAdapter& network, Context& cx, const Values& in) {
                   auto output = network.forward(cx, one(in, "image"));
                   return Values{{"keys", listed(output.keys)}, {"values", listed(output.values)}};
                 });
  frame[values] = {};
  auto add = [&](int64_t first, int64_t count, const io::Image* mask) {
    frame[values].prompts.push_back(prompt_of(frame, made, first, count));
    frame[values].prompts.back().masks = masks_of(frame, mask);
  };
  // Without masks the images are one prompt; with them each is one of its own.
  std::vector<const io::Image*> given = masks_given(frame);
  if (given.empty()) return add(0, positive.size(0), nullptr);
  for (size_t i = 0; i < given.size(); ++i) add(static_cast<int64_t>(i), 1, given[i]);
}

// Keys and values of some images together, values scaled.
ImagePromptValues::Prompt ImagePrompt::prompt_of(Frame& frame, const Values& made, int64_t first,
                                                 int64_t count) const {
  ImagePromptScale strength(frame[scale], place_);
  ImagePromptValues::Prompt prompt;
  auto sites = frame[unet].image_prompt_sites();
  for (size_t i = 0; i < sites.size(); ++i) {
    Tensor key = of_images(made.at("keys")[i].tensor(), first, count);
    Tensor value = of_images(made.at("values")[i].tensor(), first, count);
    prompt.keys.emplace_back(key, Life::run);
    prompt.values.emplace_back(value * strength.at(sites[i].path, static_cast<size_t>(first)),
                               Life::run);
  }
  return prompt;
}

std::vector<Value> ImagePrompt::masks_of(Frame& frame, const io::Image* mask) const {
  const auto grid = frame[vae].grid(frame[width], frame[height]);
  std::vector<Value> all;
  for (auto [rows, columns] : frame[unet].level_sizes(grid.height, grid.width)) {
    all.emplace_back(
        mask ? mask_tokens(mask_pixels(*mask, frame[height], frame[width]), rows * columns)
             : at::ones({1, 1, 1}, at::kFloat),
        Life::run);
  }
  return all;
}

void ImagePrompt::before_predict(Frame& frame, const LoopProgress&, RowBatch& batch) const {
  std::vector<int64_t> rows;
  for (const RowId& row : batch.rows) rows.push_back(row.negative ? 1 : 0);
  for (const ImagePromptValues::Prompt& prompt : frame[values].prompts) {
    append(batch, keys_input, prompt.keys, rows);
    append(batch, values_input, prompt.values, rows);
    append(batch, masks_input, prompt.masks, {});
  }
}

void ImagePrompt::check(Checks& checks) const {
  if (!is_of_class(checks, ip_adapter, "IPAdapter")) return;
  check_masks(checks);
  settle_image_processor(checks);
}

void ImagePrompt::check_masks(Checks& checks) const {
  auto given = [&](const auto& port) { return checks.image(port) != nullptr; };
  auto masks = std::ranges::count_if(mask_ports_, given);
  auto images = std::ranges::count_if(further_images_, given) + (given(image) ? 1 : 0);
  if (masks == 0 || masks == images) return;
  checks.error({"inputs." + name("masks"), fmt::format("{} masks", masks),
                fmt::format("there are {} images in inputs.{}", images, name("image")),
                "give one mask for each image, or none"});
}

// The folder's own way to prepare images, where the request names none.
void ImagePrompt::settle_image_processor(Checks& checks) const {
  const ComponentFolder* folder = checks.folder(feature_extractor);
  if (auto given = checks.maybe(image_processor)) {
    read_clip_image_processor(*given, "config." + image_processor.name());
  } else if (folder) {
    read_clip_image_processor(folder->config, path_text(folder->config_file));
    checks.settle(image_processor, folder->config, Origin::model);
  } else {
    int64_t side = checks[image_encoder].image_size();
    checks.settle(image_processor, {{"size", side}, {"crop_size", side}}, Origin::derived);
  }
}

void ImagePrompt::check_layers(Checks& checks, const std::vector<ImagePromptSite>& sites) const {
  const IPAdapter& network = checks[ip_adapter];
  std::string field = "components." + ip_adapter.name();
  std::string folder = path_text(checks.folder(ip_adapter)->folder);
  int64_t wanted = sites.empty() ? 0 : sites.front().context_dim;
  if (network.cross_attention_dim() != wanted) {
    checks.error({field, folder,
                  fmt::format("this is {} IP-Adapter (tokens {} wide), and the model's UNet takes "
                              "tokens {} wide",
                              family_of_width(network.cross_attention_dim()),
                              network.cross_attention_dim(), wanted),
                  "give one that was made for this model"});
  } else if (!std::ranges::equal(network.layers(), sites, {}, {}, &ImagePromptSite::width)) {
    checks.error({field, folder,
                  fmt::format("it is for {} attention layers, and the model's UNet has {}, or "
                              "others: it was made for another model",
                              network.layers().size(), sites.size()),
                  "give one that was made for this model"});
  }
}

void ImagePrompt::check_loaded(Checks& checks) const {
  const IPAdapter& network = checks[ip_adapter];
  const CLIPVisionModel& encoder = checks[image_encoder];
  auto sites = checks[unet].image_prompt_sites();
  check_layers(checks, sites);
  bool projects = encoder.visual_projection.has_value();
  int64_t told = network.reads_embeds() ? encoder.projection_dim() : encoder.hidden_size();
  if (told != network.image_embed_dim() || (network.reads_embeds() && !projects)) {
    checks.error({"components.image_encoder", path_text(checks.folder(image_encoder)->folder),
                  fmt::format("it makes {} values of an image{}, and components.{} reads {}", told,
                              projects ? "" : " and has no projection", ip_adapter.name(),
                              network.image_embed_dim()),
                  "give the image encoder that the IP-Adapter was made with"});
  }
  size_t adapters = checks.count_alike(ip_adapter);
  if (place_ + 1 == adapters) check_ip_adapter_scale(checks, scale, adapters, sites);
}

}  // namespace omnirt::blocks
