#include "families/upscale/upscale.hpp"

#include "blocks/export_images.hpp"
#include "blocks/upscale_images.hpp"
#include "networks/rrdb_net/config.hpp"
#include "networks/span/config.hpp"

namespace omnirt::families {
namespace {

constexpr const char* component = "upscaler";
constexpr const char* task = "upscale";
constexpr const char* pipeline_class = "UpscalePipeline";

// The given image as the one that is made.
class TakeImage final : public Block {
 public:
  Input<io::Image> image{this, "image", "the image that becomes larger"};
  Output<std::vector<io::Image>> images{this, slots::images};
  Output<std::vector<uint64_t>> seeds{this, slots::seeds};
  Output<std::vector<std::string>> prompt{this, slots::prompt};

  TakeImage() : Block("take_image", Stage::prepare_latents) {}
  void run(Frame& frame) const override {
    frame[images] = {frame[image]};
    frame[seeds] = {0};
    frame[prompt] = {""};
  }
};

class UpscaleGiven final : public blocks::UpscaleImages {
 public:
  Described<io::Image> image{this, "image"};

  UpscaleGiven() : UpscaleImages({}) {}

 protected:
  std::optional<blocks::ImageSize> size_before(const Checks& checks) const override {
    const ImageInput* given = checks.image(image);
    if (!given) return std::nullopt;
    return blocks::ImageSize{given->info.width, given->info.height};
  }
};

using Shapes = std::map<std::string, std::vector<int64_t>>;

std::string span_layout(const Shapes&) {
  return "span";
}

// How a class is recognised by names and shapes, and how its files are laid out.
struct Kind {
  Json (*config)(const Shapes& shapes, const std::string& where);
  std::string (*layout)(const Shapes& shapes);
};
constexpr Kind kinds[] = {{rrdb_net_config, rrdb_net_layout}, {span_config, span_layout}};

std::optional<SingleFileModel> recognised(const Shapes& shapes, const std::string& prefix) {
  for (const Kind& kind : kinds) {
    const Json config = kind.config(shapes, "model");
    if (config.is_null()) continue;
    const std::string name = config["_class_name"];
    Json index = {{"_class_name", pipeline_class}, {component, {"omnirt", name}}};
    return SingleFileModel{name, index, {{component, config, prefix, kind.layout(shapes)}}, {}};
  }
  return std::nullopt;
}

std::optional<SingleFileModel> recognise(const SingleFileFacts& facts) {
  for (const std::string prefix : {"", "params_ema.", "params."}) {
    Shapes shapes;
    for (const auto& [name, shape] : facts.shapes.all()) {
      if (name.starts_with(prefix)) shapes[name.substr(prefix.size())] = shape;
    }
    if (auto model = recognised(shapes, prefix)) return model;
  }
  return std::nullopt;
}

std::vector<SingleFileModel::Part> parts_of(const PipelineFolder& folder) {
  const ComponentFolder* part = folder.find(component);
  if (folder.class_name != pipeline_class || !part) return {};
  return {{component, {}, "", part->class_name == "SPAN" ? "span" : "basicsr"}};
}

ModelSpec entry() {
  ModelSpec made;
  made.maturity = "beta";
  made.id = "upscaler";
  made.task = task;
  made.resource_hint = {2, 2};
  made.adapter_kinds = {};
  made.summary = "any upscaler's file (ESRGAN, Real-ESRGAN, SPAN): makes a given image larger";
  made.example = "omnirt upscale in.png --model RealESRGAN_x4plus.safetensors -o out.png";
  return made;
}

}  // namespace

Family upscale() {
  return {.name = "upscale",
          .tasks = {{task, {"image"}}},
          .blocks = {std::make_shared<TakeImage>(), std::make_shared<UpscaleGiven>(),
                     std::make_shared<blocks::ExportImages>()},
          .entries = {entry()},
          .pipeline_classes = {pipeline_class},
          .variant_of = [](const PipelineFolder&) { return std::string("upscaler"); },
          .adopt_scheduler = {},
          .single_files = {{"upscalers (ESRGAN, Real-ESRGAN, SPAN)", recognise, parts_of}},
          .text_encoders = {},
          .guider = "none",
          .guider_keys = {}};
}

}  // namespace omnirt::families
