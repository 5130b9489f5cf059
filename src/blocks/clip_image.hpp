#pragma once
#include <array>
#include <string>

#include "base/config.hpp"
#include "pipeline/image_processor.hpp"

namespace omnirt::blocks {

// How an image is prepared for CLIP's image encoder: preprocessor_config.json of
// CLIPImageProcessor; defaults are those of the class in transformers.
struct CLIPImageProcessor final : ImageProcessor {
  bool do_convert_rgb = true;
  bool do_resize = true;
  bool do_center_crop = true;
  bool do_rescale = true;
  bool do_normalize = true;
  int64_t resample = 3;  // as Pillow numbers filters: 0 nearest, 1 Lanczos, 2 bilinear, 3 bicubic
  double rescale_factor = 1.0 / 255.0;
  std::vector<double> image_mean{0.48145466, 0.4578275, 0.40821073};
  std::vector<double> image_std{0.26862954, 0.26130258, 0.27577711};
  // "size" and "crop_size" in pixels: the shorter side, or {height, width}.
  int64_t shortest_edge = 224;  // 0: `size` holds
  std::array<int64_t, 2> size{0, 0};
  std::array<int64_t, 2> crop_size{224, 224};

  Tensor pixel_values(const io::Image& image) const override;

  static void visit(auto& self, auto& v) {
    v("do_convert_rgb", self.do_convert_rgb);
    v("do_resize", self.do_resize);
    v("do_center_crop", self.do_center_crop);
    v("do_rescale", self.do_rescale);
    v("do_normalize", self.do_normalize);
    v("resample", self.resample);
    v("rescale_factor", self.rescale_factor);
    v("image_mean", self.image_mean);
    v("image_std", self.image_std);
    v.only("do_pad", {false});
    // size and crop_size are numbers or objects: read separately.
    v.ignore({"size", "crop_size", "default_to_square", "use_square_size", "image_processor_type",
              "feature_extractor_type", "processor_class", "data_format", "input_data_format",
              "return_tensors", "device", "disable_grouping", "pad_size", "image_seq_length"});
  }
};

// Reads and checks; the keys that `json` lacks have the class's defaults. Throws Unsupported with
// all findings; `where` is the file.
CLIPImageProcessor read_clip_image_processor(const Json& json, const std::string& where);
ImageProcessorInfo clip_image_processor_info();
// The same of SiglipImageProcessor, which squeezes the image into a square and crops nothing.
CLIPImageProcessor read_siglip_image_processor(const Json& json, const std::string& where);
ImageProcessorInfo siglip_image_processor_info();

// Resized as Pillow does it, cropped about the centre (with black around a smaller image),
// rescaled and normalised: {1, 3, height, width} fp32. Throws InvalidRequest for an image that
// would be larger than ImageLimits once its shorter side is resized.
Tensor clip_pixel_values(const io::Image& image, const CLIPImageProcessor& processor);

}  // namespace omnirt::blocks
