#include "pipeline/latents_file.hpp"

#include <ATen/ops/isfinite.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/path_text.hpp"
#include "io/image.hpp"
#include "io/safetensors_writer.hpp"
#include "pipeline/file_tensor.hpp"

namespace omnirt {
namespace fs = std::filesystem;
namespace {

constexpr const char* tensor_name = "latents";
constexpr const char* metadata_key = "latents";
// Of each side; and a batch of the largest images, in elements.
constexpr int64_t max_side = 1 << 16;
constexpr int64_t max_elements = int64_t{1} << 30;
// The request that made them, and a little around it.
constexpr size_t max_origin_bytes = io::max_metadata_bytes + 4096;

bool is_shape_of_latents(const std::vector<int64_t>& shape) {
  if (shape.size() != 4 && shape.size() != 5) return false;
  int64_t elements = 1;
  for (int64_t side : shape) {
    if (side < 1 || side > max_side || (elements *= side) > max_elements) return false;
  }
  return true;
}

const io::TensorEntry& entry_of(const io::SafetensorsFile& file, const fs::path& path) {
  const io::TensorEntry* entry = file.find(tensor_name);
  if (!entry) {
    throw InvalidRequest({"latents", path_text(path),
                          fmt::format("the file has no tensor '{}'", tensor_name),
                          "save it under this name; output_type latent writes such a file"});
  }
  if (!is_shape_of_latents(entry->shape) || !io::is_plain_float(entry->dtype)) {
    throw InvalidRequest(
        {"latents", path_text(path),
         fmt::format("its tensor has the shape {{{}}} and the type {}",
                     fmt::join(entry->shape, ", "), io::common_dtype_name(entry->dtype)),
         "fp32, fp16 or bf16 of {images, channels, height, width} is expected, of a video {videos, "
         "frames, channels, height, width}"});
  }
  return *entry;
}

}  // namespace

LatentsInfo probe_latents(const fs::path& path) {
  auto file = io::SafetensorsFile::open(path);
  LatentsInfo info{entry_of(*file, path).shape, Json::object()};
  auto told = file->metadata().find(metadata_key);
  if (told == file->metadata().end()) return info;
  std::string where = fmt::format("{} (metadata {})", path_text(path), metadata_key);
  info.origin = parse_json(told->second, where, max_origin_bytes);
  if (!info.origin.is_object())
    throw InvalidFile({where, shown(info.origin), "an object is expected", ""});
  return info;
}

GivenLatents read_latents(const fs::path& path) {
  auto file = io::SafetensorsFile::open(path);
  const io::TensorEntry& entry = entry_of(*file, path);
  Tensor values = read_tensor(file, entry);
  if (!values.isfinite().all().item<bool>()) {
    throw InvalidRequest({"inputs.latents", path_text(path),
                          "its latents have numbers that are not finite", "give other latents"});
  }
  return {values};
}

LatentsInfo latents_info(const GivenLatents& given) {
  const std::vector<int64_t> shape = given.values.sizes().vec();
  if (!is_shape_of_latents(shape)) {
    throw InvalidRequest({"inputs.latents", fmt::format("{{{}}}", fmt::join(shape, ", ")),
                          "latents have another shape",
                          "give {images, channels, height, width}, of a video {videos, frames, "
                          "channels, height, width}"});
  }
  if (!given.values.isfinite().all().item<bool>()) {
    throw InvalidRequest(
        {"inputs.latents", "", "they have numbers that are not finite", "give other latents"});
  }
  return {shape, Json::object()};
}

void write_latents(const fs::path& path, const Tensor& latents, const Json& origin) {
  Tensor dense = latents.to(at::kCPU, at::kFloat).contiguous();
  std::span bytes(static_cast<const std::byte*>(dense.const_data_ptr()), dense.nbytes());
  io::TensorView view{tensor_name, io::Dtype::f32, dense.sizes().vec(), bytes};
  io::write_safetensors(path, std::span(&view, 1), {{metadata_key, origin.dump()}});
}

}  // namespace omnirt
