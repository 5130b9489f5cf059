#include "pipeline/value_codec.hpp"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <cstring>

#include "base/error.hpp"
#include "base/json_reason.hpp"

namespace omnirt {
namespace {

// As many as one request makes (images), with room for a video's frames.
constexpr size_t max_items = 1 << 16;
constexpr size_t max_generators = 4096;

std::vector<const Tensor*> numbered(const SavedValue& saved) {
  auto count = saved.get<uint64_t>("count");
  if (count > max_items || count > saved.tensors.size()) SavedValue::refuse("a count too large");
  std::vector<const Tensor*> items;
  for (uint64_t i = 0; i < count; ++i) items.push_back(&saved.tensor(std::to_string(i)));
  return items;
}

Tensor image_bytes(const io::Image& image) {
  Tensor bytes = at::empty({image.height, image.width, image.channels}, at::kByte);
  std::memcpy(bytes.mutable_data_ptr(), image.pixels.data(), image.pixels.size());
  return bytes;
}

io::Image image_of(const Tensor& bytes) {
  if (!bytes.defined() || bytes.scalar_type() != at::kByte || bytes.dim() != 3 ||
      bytes.numel() == 0 || (bytes.size(2) != 1 && bytes.size(2) != 3 && bytes.size(2) != 4)) {
    SavedValue::refuse("an image is {height, width, 1 or 3 or 4} bytes");
  }
  io::Image image = io::Image::zeros(bytes.size(1), bytes.size(0), bytes.size(2));
  Tensor packed = bytes.contiguous();
  std::memcpy(image.pixels.data(), packed.const_data_ptr(), image.pixels.size());
  return image;
}

}  // namespace

void SavedValue::refuse(const std::string& why) {
  throw InvalidFile({"", "", json_reason(why), ""});
}

const Tensor& SavedValue::tensor(const std::string& name) const {
  auto it = tensors.find(name);
  if (it == tensors.end()) refuse(fmt::format("its tensor '{}' is missing", name));
  return it->second;
}

// A tensor that was never made (a block may leave an output so) is one without data.
SavedValue ValueCodec<Tensor>::save(const Tensor& value) {
  SavedValue saved{Json{{"defined", value.defined()}}};
  if (value.defined()) saved.tensors["value"] = value;
  return saved;
}

Tensor ValueCodec<Tensor>::load(const SavedValue& saved, const Catalogue&) {
  return saved.get<bool>("defined") ? saved.tensor("value") : Tensor();
}

std::vector<int64_t> ValueCodec<Tensor>::sizes(const Tensor& value) {
  return value.defined() ? value.sizes().vec() : std::vector<int64_t>{};
}

SavedValue ValueCodec<Value>::save(const Value& value) {
  return ValueCodec<Tensor>::save(value.defined() ? host(value) : Tensor());
}

Value ValueCodec<Value>::load(const SavedValue& saved, const Catalogue& catalogue) {
  Tensor tensor = ValueCodec<Tensor>::load(saved, catalogue);
  return tensor.defined() ? Value(tensor, Life::run) : Value();
}

std::vector<int64_t> ValueCodec<Value>::sizes(const Value& value) {
  return ValueCodec<Tensor>::sizes(value.tensor());
}

SavedValue ValueCodec<std::vector<Value>>::save(const std::vector<Value>& value) {
  SavedValue saved{Json{{"count", value.size()}}};
  for (size_t i = 0; i < value.size(); ++i) saved.tensors[std::to_string(i)] = host(value[i]);
  return saved;
}

std::vector<Value> ValueCodec<std::vector<Value>>::load(const SavedValue& saved, const Catalogue&) {
  std::vector<Value> all;
  for (const Tensor* item : numbered(saved)) all.emplace_back(*item, Life::run);
  return all;
}

SavedValue ValueCodec<io::Image>::save(const io::Image& value) {
  return {Json::object(), {{"pixels", image_bytes(value)}}};
}

io::Image ValueCodec<io::Image>::load(const SavedValue& saved, const Catalogue&) {
  return image_of(saved.tensor("pixels"));
}

SavedValue ValueCodec<std::vector<io::Image>>::save(const std::vector<io::Image>& value) {
  SavedValue saved{Json{{"count", value.size()}}};
  for (size_t i = 0; i < value.size(); ++i)
    saved.tensors[std::to_string(i)] = image_bytes(value[i]);
  return saved;
}

std::vector<io::Image> ValueCodec<std::vector<io::Image>>::load(const SavedValue& saved,
                                                                const Catalogue&) {
  std::vector<io::Image> all;
  for (const Tensor* item : numbered(saved)) all.push_back(image_of(*item));
  return all;
}

std::vector<int64_t> ValueCodec<std::vector<io::Image>>::sizes(
    const std::vector<io::Image>& value) {
  return {static_cast<int64_t>(value.size())};
}

SavedValue ValueCodec<std::shared_ptr<Noise>>::save(const std::shared_ptr<Noise>& value) {
  return {Json::object(), {{"state", value->state()}}};
}

std::shared_ptr<Noise> ValueCodec<std::shared_ptr<Noise>>::load(const SavedValue& saved,
                                                                const Catalogue&) {
  const Tensor& state = saved.tensor("state");
  if (state.scalar_type() != at::kByte || state.dim() != 2 || state.size(0) < 1 ||
      state.size(0) > static_cast<int64_t>(max_generators)) {
    SavedValue::refuse("the generators' states are {images, bytes} bytes");
  }
  auto noise = std::make_shared<Noise>(std::vector<uint64_t>(state.size(0), 0));
  try {
    noise->set_state(state);
  } catch (const std::exception&) {
    SavedValue::refuse("not the state of a generator");
  }
  return noise;
}

std::vector<int64_t> ValueCodec<std::shared_ptr<Noise>>::sizes(
    const std::shared_ptr<Noise>& value) {
  return {static_cast<int64_t>(value->size())};
}

SavedValue ValueCodec<std::vector<ArtifactReport>>::save(const std::vector<ArtifactReport>& value) {
  Json files = Json::array();
  for (const ArtifactReport& file : value) {
    files.push_back({{"path", file.path},
                     {"kind", file.kind},
                     {"mime", file.mime},
                     {"width", file.width},
                     {"height", file.height},
                     {"seed", file.seed},
                     {"prompt", file.prompt},
                     {"frames", file.frames},
                     {"fps", file.fps}});
  }
  return {Json{{"files", files}}};
}

std::vector<ArtifactReport> ValueCodec<std::vector<ArtifactReport>>::load(const SavedValue& saved,
                                                                          const Catalogue&) {
  std::vector<ArtifactReport> all;
  for (const Json& json : saved.get<Json>("files")) {
    SavedValue file{json};
    ArtifactReport& report = all.emplace_back();
    report.path = file.get<std::string>("path");
    report.kind = file.get<std::string>("kind");
    report.mime = file.get<std::string>("mime");
    report.width = file.get<int64_t>("width");
    report.height = file.get<int64_t>("height");
    report.seed = file.get<uint64_t>("seed");
    report.prompt = file.get<std::string>("prompt");
    report.frames = file.get<int64_t>("frames");
    report.fps = file.get<double>("fps");
  }
  return all;
}

}  // namespace omnirt
