// A whole family: its blocks, an entry, a scheduler and a guider with it. Its images are
// stripes.
#include <algorithm>

#include "blocks/export_images.hpp"
#include "blocks/start_noise.hpp"
#include "pipeline/plugin.hpp"

using namespace omnirt;

namespace {

constexpr Key<int64_t> stripes{"stripes", int64_t{4}, {1, 64}, "stripes", "stripes a picture"};

class DrawStripes final : public Block {
 public:
  Config<int64_t> count{this, stripes};
  Input<std::vector<uint64_t>> seeds{this, "seeds", "one per image"};
  Output<std::vector<io::Image>> images{this, "images", "the images"};

  DrawStripes() : Block("draw_stripes", Stage::decode) {}
  void run(Frame& frame) const override {
    for (uint64_t seed : frame[seeds]) {
      io::Image image = io::Image::zeros(64, 64, 3);
      for (int64_t y = 0; y < 64; ++y) {
        bool light = (y * frame[count] / 64 + static_cast<int64_t>(seed)) % 2 == 0;
        std::fill_n(image.row(y), image.row_bytes(), light ? 255 : 0);
      }
      frame[images].push_back(std::move(image));
    }
  }
};

Family stripes_family() {
  Family family;
  family.name = "stripes";
  family.tasks = {{"text2image", {}}};
  append(family.blocks, std::make_shared<blocks::StartNoise>());
  append(family.blocks, std::make_shared<DrawStripes>());
  append(family.blocks, std::make_shared<blocks::ExportImages>());
  ModelSpec entry;
  entry.id = "stripes";
  entry.task = "text2image";
  entry.summary = "black and white stripes";
  entry.example = "omnirt generate --model stripes --prompt stripes -o stripes.png";
  family.entries = {entry};
  family.pipeline_classes = {"StripesPipeline"};
  family.variant_of = [](const PipelineFolder&) { return std::string("stripes"); };
  return family;
}

}  // namespace

extern "C" Plugin omnirt_plugin() {
  return {.name = "stripes", .add = [](Catalogue& catalogue) {
            catalogue.families.push_back(stripes_family());
            SchedulerInfo scheduler = *catalogue.find_scheduler("ddim");
            scheduler.class_name = "StripesScheduler";
            scheduler.short_names = {"stripes"};
            catalogue.schedulers.push_back(scheduler);
            GuiderInfo guider = *catalogue.find_guider("cfg");
            guider.type = "stripes";
            catalogue.guiders.push_back(guider);
          }};
}
