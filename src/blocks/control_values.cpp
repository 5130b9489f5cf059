#include "blocks/control_values.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/path_text.hpp"
#include "pipeline/frame.hpp"
#include "tensor/generator.hpp"
#include "tensor/image_tensor.hpp"

namespace omnirt::blocks {

Tensor control_pixels(const io::Image& image, int64_t channels, int64_t height, int64_t width,
                      ImageFit fit, const io::Preprocess& how) {
  auto in_channels = [&](const io::Image& given) {
    return channels == 1 ? io::to_grey(given) : io::to_rgb(given);
  };
  if (how.kind == PreprocessKind::none)
    return image_to_tensor(io::fit_image(in_channels(image), width, height, fit));
  io::Image fitted = io::fit_image(io::to_rgb(image), width, height, fit);
  return image_to_tensor(in_channels(io::preprocessed(fitted, how)));
}

io::Preprocess preprocess_of(const std::optional<Json>& given, const Config<Json>& port,
                             size_t place) {
  if (!given) return {};
  const std::string field = "config." + port.name();
  if (!given->is_array()) return io::read_preprocess(*given, field);
  return io::read_preprocess(given->at(place), fmt::format("{}[{}]", field, place));
}

void check_preprocess(Checks& checks, const Config<Json>& port, size_t parts) {
  const auto given = checks.maybe(port);
  if (given && given->is_array() && given->size() != parts) {
    checks.error({"config." + port.name(), shown(*given),
                  fmt::format("there are {} of them", parts),
                  "give one for all, or one for each (\"none\" for the image as it is)"});
    return;
  }
  for (size_t i = 0; i < parts; ++i) preprocess_of(given, port, i);
}

Tensor drawn_at(size_t place, uint64_t seed, const std::vector<int64_t>& shape) {
  Noise source({&seed, 1});
  for (size_t i = 0; i < place; ++i) source.randn(shape);
  return source.randn(shape);
}

bool asks_without_prompt(Frame& frame) {
  return std::ranges::any_of(frame.guider().conditions(), &Condition::negative);
}

Json mode_at(const std::optional<Json>& given, size_t place) {
  if (!given || !given->is_array()) return given.value_or(Json());
  return place < given->size() ? given->at(place) : Json();
}

double part_of(const Json& value, size_t place) {
  return value.is_array() ? value.at(place).get<double>() : value.get<double>();
}

double strength_at(const LoopProgress& at, const ControlStrength& all, size_t place) {
  auto step = static_cast<double>(at.step), steps = static_cast<double>(at.steps);
  bool before = step / steps < part_of(all.start, place);
  bool after = (step + 1) / steps > part_of(all.end, place);
  return before || after ? 0.0 : part_of(all.scale, place);
}

void check_parts(Checks& checks, const Config<Json>& port, size_t parts, double lowest,
                 double highest) {
  const Json given = checks[port];
  std::string field = "config." + port.name();
  bool list = given.is_array();
  if (list && given.size() != parts) {
    checks.error({field, shown(given), fmt::format("there are {} of them", parts),
                  "give one number for all, or one for each"});
    return;
  }
  for (const Json& each : list ? given : Json::array({given})) {
    if (each.is_number() && each.get<double>() >= lowest && each.get<double>() <= highest) continue;
    checks.error({field, shown(each), "not a number that is taken",
                  fmt::format("give {} to {}", lowest, highest)});
  }
}

bool is_of_class(Checks& checks, const Port& component, const char* class_name) {
  const ComponentFolder* folder = checks.folder(component);
  if (folder->class_name == class_name) return true;
  checks.error({"components." + component.name(), path_text(folder->folder),
                fmt::format("holds a {}, where a {} is expected", folder->class_name, class_name),
                "name a part of the right kind"});
  return false;
}

void check_channels(Checks& checks, const Port& component, int64_t channels, const char* name) {
  if (channels == 3 || channels == 1) return;
  checks.error({"components." + component.name(), path_text(checks.folder(component)->folder),
                fmt::format("it takes control images of {} channels ({})", channels, name),
                "give one that takes images, of 3 channels or 1"});
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
      input[i] = input[i].tensor() + values[i].to(input[i].tensor().device());
    else
      input.emplace_back(values[i]);
  }
}

}  // namespace omnirt::blocks
