#pragma once
#include <string>

#include "base/config.hpp"
#include "pipeline/image_processor.hpp"

namespace omnirt::blocks {

// How an image is prepared for the vision towers of Qwen2-VL, Qwen2.5-VL and Qwen3-VL:
// preprocessor_config.json of Qwen2VLImageProcessor; defaults are those of the class in
// transformers.
struct Qwen2VLImageProcessor final : ImageProcessor {
  bool do_convert_rgb = true;
  bool do_resize = true;
  bool do_rescale = true;
  bool do_normalize = true;
  double rescale_factor = 1.0 / 255.0;
  std::vector<double> image_mean{0.48145466, 0.4578275, 0.40821073};
  std::vector<double> image_std{0.26862954, 0.26130258, 0.27577711};
  int64_t patch_size = 14;
  int64_t merge_size = 2;
  int64_t temporal_patch_size = 2;
  // Of the resized image; also "size", as {shortest_edge, longest_edge}.
  int64_t min_pixels = 56 * 56;
  int64_t max_pixels = 28 * 28 * 1280;

  // {1, 3, H, W} fp32, H and W multiples of patch_size * merge_size. Throws InvalidRequest for an
  // image of which one side is more than 200 times the other.
  Tensor pixel_values(const io::Image& image) const override;

  static void visit(auto& self, auto& v) {
    v("do_convert_rgb", self.do_convert_rgb);
    v("do_resize", self.do_resize);
    v("do_rescale", self.do_rescale);
    v("do_normalize", self.do_normalize);
    v("rescale_factor", self.rescale_factor);
    v("image_mean", self.image_mean);
    v("image_std", self.image_std);
    v("patch_size", self.patch_size);
    v("merge_size", self.merge_size);
    v("temporal_patch_size", self.temporal_patch_size);
    v.only("resample", {3});  // bicubic, as Pillow numbers filters
    // The count of pixels is read separately.
    v.ignore({"size", "min_pixels", "max_pixels", "image_processor_type", "feature_extractor_type",
              "processor_class", "data_format", "input_data_format", "return_tensors", "device",
              "disable_grouping", "default_to_square", "crop_size", "do_center_crop", "do_pad",
              "pad_size", "image_seq_length"});
  }
};

// Reads and checks; the keys that `file` lacks have the class's defaults. Throws Unsupported with
// all findings; `where` is the file.
Qwen2VLImageProcessor read_qwen2_vl_image_processor(const Json& file, const std::string& where);
ImageProcessorInfo qwen2_vl_image_processor_info();

}  // namespace omnirt::blocks
