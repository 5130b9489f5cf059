#pragma once
#include <map>
#include <string>

#include "source_paths.hpp"

namespace omnirt::testing {

// A small folder with weights for a model of the registry; "" for one that has none.
inline std::string small_model(const std::string& id) {
  static const std::map<std::string, const char*> folders{
      {"emoji", "models/emoji"},
      {"emoji-sd", "models/emoji-sd"},
      {"sd15", "tests/goldens/pipelines/sd15/model"},
      {"sd21", "tests/goldens/pipelines/sd2/model"},
      {"sdxl", "tests/goldens/pipelines/sdxl/model"},
      {"sdxl-refiner", "tests/goldens/pipelines/sdxl_refiner/model"},
      {"sdxl-turbo", "tests/goldens/pipelines/sdxl_turbo/model"},
      {"sdxl-inpainting", "tests/goldens/pipelines/sdxl_inpaint9/model"},
      {"pixart-sigma", "tests/goldens/pipelines/pixart_sigma/model"},
      {"pixart-alpha", "tests/goldens/pipelines/pixart_alpha/model"},
      {"flux2.klein-4b", "tests/goldens/pipelines/flux2_klein/model"},
      {"flux2.klein-9b", "tests/goldens/pipelines/flux2_klein/model"},
      {"flux2.klein-9b-kv", "tests/goldens/pipelines/flux2_klein_kv/model"},
      {"flux2.klein-base-4b", "tests/goldens/pipelines/flux2_klein_base/model"},
      {"flux2.klein-base-9b", "tests/goldens/pipelines/flux2_klein_base/model"},
      {"flux2.dev", "tests/goldens/pipelines/flux2_dev/model"},
      {"flux3.klein", "tests/goldens/pipelines/flux3_klein/model"},
      {"flux3.klein-base", "tests/goldens/pipelines/flux3_klein_base/model"},
      {"flux1.schnell", "tests/goldens/pipelines/flux_schnell/model"},
      {"flux1.dev", "tests/goldens/pipelines/flux_dev/model"},
      {"flux1.fill-dev", "tests/goldens/pipelines/flux_fill/model"},
      {"flux1.depth-dev", "tests/goldens/pipelines/flux_control/model"},
      {"flux1.canny-dev", "tests/goldens/pipelines/flux_control/model"},
      {"flux1.kontext-dev", "tests/goldens/pipelines/flux_kontext/model"},
      {"qwen-image", "tests/goldens/pipelines/qwen_image/model"},
      {"qwen-image-2512", "tests/goldens/pipelines/qwen_image/model"},
      {"qwen-image-edit", "tests/goldens/pipelines/qwen_image_edit/model"},
      {"qwen-image-edit-2509", "tests/goldens/pipelines/qwen_image_edit_plus/model"},
      {"qwen-image-edit-2511", "tests/goldens/pipelines/qwen_image_edit_plus/model"},
      {"qwen-image-layered", "tests/goldens/pipelines/qwen_image_layered/model"},
      {"z-image", "tests/goldens/pipelines/z_image/model"},
      {"z-image-turbo", "tests/goldens/pipelines/z_image/model"},
      {"z-image-omni", "tests/goldens/pipelines/z_image_omni/model"},
      {"sd3-medium", "tests/goldens/pipelines/sd3/model"},
      {"sd3.5-medium", "tests/goldens/pipelines/sd35/model"},
      {"sd3.5-large", "tests/goldens/pipelines/sd35/model"},
      {"sd3.5-large-turbo", "tests/goldens/pipelines/sd35/model"},
      {"chroma1-hd", "tests/goldens/pipelines/chroma/model"},
      {"lumina-image-2", "tests/goldens/pipelines/lumina2/model"},
      {"aura-flow", "tests/goldens/pipelines/aura_flow/model"},
      {"krea-2", "tests/goldens/pipelines/krea2/model"},
      {"krea-2-turbo", "tests/goldens/pipelines/krea2_turbo/model"},
      {"qwen-image-2.1", "tests/goldens/pipelines/qwen_image_21/model"},
      {"qwen-image-2.1-turbo", "tests/goldens/pipelines/qwen_image_21_turbo/model"},
      {"sana-sprint", "tests/goldens/pipelines/sana_sprint/model"},
      {"sana", "tests/goldens/pipelines/sana/model"},
      {"svd", "tests/goldens/videos/svd/model"},
      {"upscaler", "tests/goldens/upscalers/rrdb_x2plus/model.safetensors"},
      {"svd-xt", "tests/goldens/videos/svd/model"}};
  auto found = folders.find(id);
  return found == folders.end() ? "" : source_path(found->second).string();
}

}  // namespace omnirt::testing
