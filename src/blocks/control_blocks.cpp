#include "blocks/control_blocks.hpp"

#include "blocks/check_control.hpp"
#include "blocks/control_values.hpp"
#include "blocks/controlnet.hpp"
#include "blocks/encode_control_image.hpp"
#include "blocks/image_size.hpp"
#include "blocks/ip_adapter.hpp"
#include "blocks/t2i_adapter.hpp"
#include "pipeline/numbered.hpp"

namespace omnirt::blocks {

namespace {

// One image per part.
ControlKind kind(const char* component, const char* input, const char* what) {
  ControlKind made{component, what, {}};
  for (size_t i = 0; i < most_controls; ++i)
    made.reads[numbered(input, i)] = numbered(component, i);
  return made;
}

// Several images, and masks, per part.
ControlKind image_prompts() {
  ControlKind made{"ip_adapter", "an IP-Adapter", {}, "file"};
  for (size_t part = 0; part < most_prompts; ++part) {
    std::string name = numbered("ip_adapter", part);
    for (size_t i = 0; i < most_controls; ++i) {
      made.reads[numbered(name + "_image", i)] = name;
      made.reads[numbered(name + "_masks", i)] = name;
    }
  }
  return made;
}

}  // namespace

BlockList control_checks() {
  BlockList list;
  for (const ControlKind& each :
       {kind("controlnet", "control_image", "a ControlNet"),
        kind("t2i_adapter", "adapter_image", "a T2I-Adapter"), image_prompts()})
    list.push_back(std::make_shared<CheckControl>(each));
  return list;
}

BlockList token_control_checks(const Trigger& when) {
  return {
      std::make_shared<CheckControl>(kind("controlnet", "control_image", "a ControlNet"), when)};
}

BlockList image_prompt_checks() {
  return {std::make_shared<CheckControl>(image_prompts())};
}

BlockList encode_control_images() {
  BlockList list;
  for (size_t i = 0; i < most_controls; ++i)
    list.push_back(std::make_shared<EncodeControlImage>(i));
  return list;
}

BlockList token_controlnets(const TokenControlOptions& options) {
  BlockList list;
  for (size_t i = 0; i < most_controls; ++i)
    list.push_back(std::make_shared<TokenControlNet>(i, options));
  return list;
}

BlockList control_steps() {
  BlockList list;
  for (size_t i = 0; i < most_controls; ++i) list.push_back(std::make_shared<ControlNet>(i));
  for (size_t i = 0; i < most_controls; ++i) list.push_back(std::make_shared<T2IControl>(i));
  for (size_t i = 0; i < most_prompts; ++i) list.push_back(std::make_shared<ImagePrompt>(i));
  return list;
}

BlockList hires_controls(const Trigger& hires) {
  BlockList list;
  for (size_t i = 0; i < most_controls; ++i)
    list.push_back(std::make_shared<HiresControl>(i, hires));
  for (size_t i = 0; i < most_controls; ++i)
    list.push_back(std::make_shared<HiresT2IControl>(i, hires));
  return list;
}

void add_image_sizes(BlockList& list, const Trigger& from_noise, const Trigger& from_image,
                     const Trigger& inpaint) {
  using Unset = SizeOfImage::Unset;
  const Trigger control = from_noise && has("control_image");
  const Trigger adapter = from_noise && has("adapter_image") && !has("control_image");
  const Trigger its_own = from_image || (inpaint && has("control_image"));
  auto add = [&](const char* name, Unset unset, const Trigger& when, const char* image) {
    list.push_back(std::make_shared<SizeOfImage>(name, unset, when, image));
  };
  add("size_of_model", Unset::model, (from_noise || inpaint) && !its_own && !control && !adapter,
      "image");
  add("size_of_image", Unset::image, its_own, "image");
  add("size_of_control_image", Unset::image, control, "control_image");
  add("size_of_adapter_image", Unset::image, adapter, "adapter_image");
}

}  // namespace omnirt::blocks
