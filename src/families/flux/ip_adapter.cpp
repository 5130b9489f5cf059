#include "families/flux/ip_adapter.hpp"

#include <ATen/ops/cat.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/path_text.hpp"
#include "blocks/clip_image.hpp"
#include "blocks/control_values.hpp"
#include "pipeline/numbered.hpp"

namespace omnirt::flux {
namespace {

constexpr double largest_prompt_scale = 100;

// What holds for the adapter at `place`, of a number for all, or a list: a number, or a list with
// one for each block.
Json scale_of_adapter(const Json& given, size_t place) {
  return given.is_array() ? given.at(place) : given;
}

// {images + 1, tokens, D}, the last for the negative prompt -> {2, images tokens, D}:
// attention to the same keys several times is attention to them once.
Tensor both(const Tensor& all, int64_t images) {
  const Tensor positive = all.narrow(0, 0, images).flatten(0, 1);
  const Tensor negative = all.narrow(0, images, 1).flatten(0, 1).repeat({images, 1});
  return at::cat({positive.unsqueeze(0), negative.unsqueeze(0)});
}

void append(RowBatch& batch, const char* input, const std::vector<Value>& values,
            const std::vector<int64_t>& rows) {
  for (const Value& value : values) batch.inputs[input].push_back(value.with_rows(rows));
}

}  // namespace

ImagePrompt::ImagePrompt(size_t place)
    : StepBlock(numbered("ip_adapter", place), Stage::denoise_loop, Guidance::shared,
                has_component(numbered("ip_adapter", place))),
      ip_adapter(this, numbered("ip_adapter", place)),
      image(this, numbered("ip_adapter", place) + "_image",
            "the image that components." + numbered("ip_adapter", place) + " reads"),
      negative_image(this, numbered("negative_ip_adapter_image", place),
                     "the same for the negative prompt (if omitted, a black one)"),
      values(this, numbered("ip_adapter", place) + "_prompts", "keys and values of the images"),
      place_(place) {
  for (size_t i = 1; i < blocks::most_controls; ++i)
    further_images_.emplace_back(this, numbered(image.name(), i), "a further image beside it");
}

Tensor ImagePrompt::encoded(Frame& frame, const std::vector<const io::Image*>& images) const {
  const auto settings =
      blocks::read_clip_image_processor(frame[image_processor], "config.image_processor");
  std::vector<Tensor> prepared;
  for (const io::Image* each : images)
    prepared.push_back(blocks::clip_pixel_values(*each, settings));
  return one(frame.call(
      image_encoder, {{"pixel_values", {at::cat(prepared)}}},
      [](const CLIPVisionModel& encoder, Context& cx, const Values& in) {
        return encoder.forward(cx, one(in, "pixel_values")).image_embeds;
      },
      "embeds"));
}

void ImagePrompt::run(Frame& frame) const {
  std::vector<const io::Image*> images{&frame[image]};
  for (const auto& port : further_images_) {
    if (const io::Image* given = frame[port]) images.push_back(given);
  }
  const auto count = static_cast<int64_t>(images.size());
  const io::Image black = io::Image::zeros(1, 1, 3);
  const io::Image* given = frame[negative_image];
  images.push_back(given ? given : &black);
  const Values made =
      frame.call(ip_adapter, {{"image_embeds", {encoded(frame, images)}}},
                 [](const FluxIPAdapter& network, Context& cx, const Values& in) {
                   auto output = network.forward(cx, one(in, "image_embeds"));
                   return Values{{"keys", listed(output.keys)}, {"values", listed(output.values)}};
                 });
  const Json strength = scale_of_adapter(frame[scale], place_);
  blocks::ImagePromptValues::Prompt prompt;
  for (size_t i = 0; i < made.at("keys").size(); ++i) {
    prompt.keys.emplace_back(both(made.at("keys")[i].tensor(), count), Life::run);
    prompt.values.emplace_back(
        both(made.at("values")[i].tensor(), count) * blocks::part_of(strength, i), Life::run);
  }
  frame[values] = {};
  frame[values].prompts.push_back(std::move(prompt));
}

void ImagePrompt::before_predict(Frame& frame, const LoopProgress&, RowBatch& batch) const {
  std::vector<int64_t> rows;
  for (const RowId& row : batch.rows) rows.push_back(row.negative ? 1 : 0);
  for (const auto& prompt : frame[values].prompts) {
    append(batch, "ip_adapter_keys", prompt.keys, rows);
    append(batch, "ip_adapter_values", prompt.values, rows);
  }
}

void ImagePrompt::check_fits(Checks& checks) const {
  const FluxIPAdapterConfig& sizes = checks[ip_adapter].sizes();
  const FluxTransformer2DModel& model = checks[transformer];
  auto differs = [&](const char* what, int64_t has, int64_t wanted, const char* whose) {
    if (has == wanted) return;
    checks.error({"components." + ip_adapter.name(), path_text(checks.folder(ip_adapter)->folder),
                  fmt::format("its {} is {}, and that of {} {}", what, has, whose, wanted),
                  "give one that was made for this model"});
  };
  differs("number of blocks", sizes.num_layers,
          static_cast<int64_t>(model.transformer_blocks.size()), "the transformer");
  differs("width of tokens", sizes.inner_dim, model.residual_sites().front().dim,
          "the transformer");
  differs("image_embed_dim", sizes.image_embed_dim, checks[image_encoder].projection_dim(),
          "components.image_encoder");
}

void ImagePrompt::check_scale(Checks& checks) const {
  const size_t adapters = checks.count_alike(ip_adapter);
  const Json given = checks[scale];
  auto refuse = [&](const std::string& why) {
    checks.error({"config.ip_adapter_scale", shown(given), why,
                  "give a number, or a list with one for each IP-Adapter, each a number or a list "
                  "with one for each block"});
  };
  if (given.is_array() && given.size() != adapters)
    return refuse(fmt::format("there are {} IP-Adapters", adapters));
  const Json mine = scale_of_adapter(given, place_);
  const size_t blocks = checks[transformer].transformer_blocks.size();
  if (mine.is_array() && mine.size() != blocks)
    return refuse(fmt::format("the transformer has {} blocks", blocks));
  for (const Json& each : mine.is_array() ? mine : Json::array({mine})) {
    if (!each.is_number() || std::abs(each.get<double>()) > largest_prompt_scale)
      return refuse(
          fmt::format("not a number from {} to {}", -largest_prompt_scale, largest_prompt_scale));
  }
}

void ImagePrompt::check_negative(Checks& checks) const {
  const ImageInput* given = checks.image(negative_image);
  if (!given || std::ranges::any_of(checks.conditions(), &Condition::negative)) return;
  checks.error({"inputs." + negative_image.name(), path_text(given->path),
                "it is for guidance by a negative prompt, and there is none",
                "give inputs.negative_prompt and a config.true_cfg_scale above 1, or remove it"});
}

void ImagePrompt::settle_image_processor(Checks& checks) const {
  const ComponentFolder* folder = checks.folder(feature_extractor);
  if (auto given = checks.maybe(image_processor)) {
    blocks::read_clip_image_processor(*given, "config." + image_processor.name());
  } else if (folder) {
    blocks::read_clip_image_processor(folder->config, path_text(folder->config_file));
    checks.settle(image_processor, folder->config, Origin::model);
  } else {
    const int64_t side = checks[image_encoder].image_size();
    checks.settle(image_processor, {{"size", side}, {"crop_size", side}}, Origin::derived);
  }
}

void ImagePrompt::check(Checks& checks) const {
  check_fits(checks);
  check_scale(checks);
  check_negative(checks);
  settle_image_processor(checks);
}

}  // namespace omnirt::flux
