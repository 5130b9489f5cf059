#include "blocks/control_values.hpp"

#include <fmt/format.h>

#include "io/image_resize.hpp"
#include "request/numbered.hpp"
#include "tensor/image_tensor.hpp"

namespace omnirt::blocks {

Tensor control_pixels(const io::Image& image, int64_t channels, int64_t height, int64_t width) {
  io::Image picture = channels == 1 ? io::to_grey(image) : io::to_rgb(image);
  if (picture.width != width || picture.height != height)
    picture = io::resize_lanczos(picture, width, height);
  return image_to_tensor(picture);
}

double part_of(const Json& value, size_t place) {
  return value.is_array() ? value.at(place).get<double>() : value.get<double>();
}

void check_parts(Proposal& proposal, const char* key, size_t parts, double lowest, double highest) {
  const ConfigValue* given = proposal.config.find(key);
  if (!given) return;
  std::string field = std::string("config.") + key;
  bool list = given->value.is_array();
  if (list && given->value.size() != parts) {
    proposal.error({field, shown(given->value), fmt::format("there are {} of them", parts),
                    "give one number for all, or one for each"});
    return;
  }
  for (const Json& each : list ? given->value : Json::array({given->value})) {
    if (each.is_number() && each.get<double>() >= lowest && each.get<double>() <= highest) continue;
    proposal.error({field, shown(each), "not a number that is taken",
                    fmt::format("give {} to {}", lowest, highest)});
  }
}

size_t count_components(const Proposal& proposal, const std::string& name) {
  size_t count = 0;
  while (proposal.folder.find(numbered(name, count))) ++count;
  return count;
}

bool is_of_class(Proposal& proposal, const std::string& component, const char* class_name) {
  const ComponentFolder* folder = proposal.folder.find(component);
  if (folder->class_name == class_name) return true;
  proposal.error({"components." + component, folder->folder.string(),
                  fmt::format("holds a {}, where a {} is expected", folder->class_name, class_name),
                  "name a part of the right kind"});
  return false;
}

std::string family_of_width(int64_t cross_attention_dim) {
  switch (cross_attention_dim) {
    case 768:
      return "a Stable Diffusion 1.x";
    case 1024:
      return "a Stable Diffusion 2.x";
    case 2048:
      return "an SDXL";
    default:
      return "another model's";
  }
}

bool is_condition(const std::string& row, const std::string& condition) {
  return row.starts_with(condition + "/");
}

void add_to_input(RowBatch& batch, const std::string& name, const Tensor& value) {
  Tensor& input = batch.inputs[name];
  input = input.defined() ? input + value : value;
}

std::vector<Tensor> unpacked(const Tensor& packed,
                             const std::vector<std::array<int64_t, 3>>& shapes) {
  std::vector<Tensor> parts;
  int64_t at = 0;
  for (const auto& [channels, height, width] : shapes) {
    int64_t count = channels * height * width;
    ensure(at + count <= packed.size(1), "{} values are fewer than the shapes want",
           packed.size(1));
    parts.push_back(packed.narrow(1, at, count).reshape({packed.size(0), channels, height, width}));
    at += count;
  }
  ensure(at == packed.size(1), "{} values, where the shapes want {}", packed.size(1), at);
  return parts;
}

}  // namespace omnirt::blocks
