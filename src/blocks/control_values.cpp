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

void add_to_input(RowBatch& batch, const std::string& name, const std::vector<Tensor>& values) {
  std::vector<Value>& input = batch.inputs[name];
  ensure(input.empty() || input.size() == values.size(), "{} residuals are added to {}",
         values.size(), input.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (i < input.size())
      input[i] = input[i].tensor() + values[i];
    else
      input.emplace_back(values[i]);
  }
}

}  // namespace omnirt::blocks
