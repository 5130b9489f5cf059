#include "io/scaled_forms.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/whole_number.hpp"
#include "io/utf8.hpp"

namespace omnirt::io {
namespace {

using ScaleOrder = ScaledForm::Order;
using Numbers = ScaledForm::Numbers;
using Shape = std::vector<int64_t>;

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

class FormReader {
 public:
  explicit FormReader(LayerTensors& tensors) : tensors_(tensors) {}

  ScaledForm read(const std::string& format, const TensorEntry& weight, const std::string& layer,
                  const Json& json) {
    if (weight.encoding || weight.shape.size() < 2 || element_count(weight) == 0)
      tensors_.fail(weight.name,
                    fmt::format("[{}]: {} is for matrices", fmt::join(weight.shape, ", "), format));
    ScaledForm form;
    form.name = format;
    form.rows = weight.shape[0];
    form.columns = row_elements(weight);
    if (format == "float8_e4m3fn" || format == "float8_e5m2") {
      read_fp8(form, format, weight, layer);
    } else if (format == fp8_in_blocks) {
      read_fp8_blocks(form, weight, layer);
    } else if (format == "mxfp8") {
      want_type(weight, format, {Dtype::f8_e4m3, Dtype::u8});
      form.block_columns = 32;
      read_block_scales(form, weight, layer, Dtype::f8_e8m0, ScaleOrder::tiles);
    } else if (format == "nvfp4" || format == nvfp4_of_diffusers) {
      read_nvfp4(form, format == "nvfp4", weight, layer);
    } else if (format == "int8_tensorwise") {
      read_int8(form, weight, layer, json);
    } else if (format == "awq_w4a16") {
      read_awq(form, weight, layer, json);
    } else {
      throw Unsupported({fmt::format("{}: tensor {}", tensors_.file(), shown_name(weight.name)),
                         format, "weights in this format are not read", quantized_elsewhere});
    }
    return form;
  }

 private:
  void want_type(const TensorEntry& weight, const std::string& format,
                 std::initializer_list<Dtype> types) const {
    if (std::ranges::find(types, weight.dtype) != types.end()) return;
    tensors_.fail(weight.name, fmt::format("it is said to be {}, and is stored as {}", format,
                                           dtype_name(weight.dtype)));
  }

  void want_scale(const FoundTensor& scale, const Shape& shape, Dtype type) const {
    const TensorEntry& entry = *scale.entry;
    // Bytes are written for types that torch could not save at the time.
    bool typed = entry.dtype == type || (dtype_bits(type) == 8 && entry.dtype == Dtype::u8);
    if (!typed)
      tensors_.fail(entry.name, fmt::format("its type is {}; {} is expected",
                                            dtype_name(entry.dtype), dtype_name(type)));
    if (entry.shape == shape) return;
    tensors_.fail(entry.name, fmt::format("mis-shaped: [{}]; [{}] is expected",
                                          fmt::join(entry.shape, ", "), fmt::join(shape, ", ")));
  }

  // One number, or one per row.
  void read_row_scales(ScaledForm& form, const FoundTensor& scale) const {
    const TensorEntry& entry = *scale.entry;
    form.scales = scale;
    form.scale_type = entry.dtype;
    form.block_columns = form.columns;
    if (!is_plain_float(entry.dtype))
      tensors_.fail(entry.name,
                    fmt::format("its type is {}; a float's is expected", dtype_name(entry.dtype)));
    if (element_count(entry) == 1 && entry.shape.size() <= 2) {
      form.block_rows = form.rows;
    } else if (entry.shape.empty() || entry.shape[0] != form.rows ||
               element_count(entry) != form.rows) {
      tensors_.fail(entry.name, fmt::format("mis-shaped: [{}]; one number, or [{}], is expected",
                                            fmt::join(entry.shape, ", "), form.rows));
    }
  }

  void read_fp8(ScaledForm& form, const std::string& format, const TensorEntry& weight,
                const std::string& layer) {
    bool e4m3 = format == "float8_e4m3fn";
    want_type(weight, format, {e4m3 ? Dtype::f8_e4m3 : Dtype::f8_e5m2, Dtype::u8});
    form.name = e4m3 ? "fp8 scaled" : "fp8_e5m2 scaled";
    form.numbers = e4m3 ? Numbers::f8_e4m3 : Numbers::f8_e5m2;
    const FoundTensor* old = tensors_.take(layer, "scale_weight");
    read_row_scales(form, old ? *old : tensors_.need(layer, "weight_scale", format));
  }

  void read_fp8_blocks(ScaledForm& form, const TensorEntry& weight, const std::string& layer) {
    want_type(weight, fp8_in_blocks, {Dtype::f8_e4m3});
    form.name = "fp8 scaled";
    form.block_rows = form.block_columns = 128;
    form.scales = tensors_.need(layer, "weight_scale_inv", form.name);
    form.scale_type = form.scales.entry->dtype == Dtype::bf16 ? Dtype::bf16 : Dtype::f32;
    want_scale(form.scales, {ceil_div(form.rows, 128), ceil_div(form.columns, 128)},
               form.scale_type);
  }

  // Scales of blocks along the rows, padded to whole tiles in that order.
  void read_block_scales(ScaledForm& form, const TensorEntry& weight, const std::string& layer,
                         Dtype type, ScaleOrder order) {
    if (form.columns % form.block_columns != 0)
      tensors_.fail(weight.name, fmt::format("{} columns, and {} has blocks of {}", form.columns,
                                             form.name, form.block_columns));
    int64_t across = form.columns / form.block_columns;
    form.scales = tensors_.need(layer, "weight_scale", form.name);
    form.scale_type = type;
    form.order = order;
    bool tiles = order == ScaleOrder::tiles;
    want_scale(form.scales,
               {tiles ? ceil_div(form.rows, 128) * 128 : form.rows,
                tiles ? ceil_div(across, 4) * 4 : across},
               type);
  }

  void read_nvfp4(ScaledForm& form, bool comfy, const TensorEntry& weight,
                  const std::string& layer) {
    want_type(weight, "nvfp4", {Dtype::u8});
    form.name = "nvfp4";
    form.numbers = comfy ? Numbers::f4_high_first : Numbers::f4_low_first;
    form.columns *= 2;
    form.block_columns = 16;
    read_block_scales(form, weight, layer, Dtype::f8_e4m3,
                      comfy ? ScaleOrder::tiles : ScaleOrder::rows);
    form.second_scale = tensors_.need(layer, "weight_scale_2", "nvfp4");
    const TensorEntry& second = *form.second_scale->entry;
    if (second.dtype != Dtype::f32 || element_count(second) != 1)
      tensors_.fail(second.name, "one number of type F32 is expected");
  }

  int64_t size_in(const Json& json, const char* key, int64_t otherwise,
                  const std::string& layer) const {
    auto it = json.find(key);
    if (it == json.end()) return otherwise;
    const auto size = whole_number(*it, 1, 65'536);
    if (!size) {
      tensors_.fail(layer + ".comfy_quant",
                    fmt::format("{} is {}: 1 to 65536 is expected", key, shown(*it)));
    }
    return *size;
  }

  void read_int8(ScaledForm& form, const TensorEntry& weight, const std::string& layer,
                 const Json& json) {
    want_type(weight, "int8_tensorwise", {Dtype::i8});
    form.name = "int8 scaled";
    form.numbers = Numbers::int8;
    read_row_scales(form, tensors_.need(layer, "weight_scale", "int8_tensorwise"));
    auto rotated = json.find("convrot");
    if (rotated == json.end() || *rotated == false) return;
    if (*rotated != true)
      tensors_.fail(layer + ".comfy_quant", "convrot is neither true nor false");
    form.name = "int8 convrot";
    form.rotation = size_in(json, "convrot_groupsize", 256, layer);
    int64_t power = 4;
    while (power < form.rotation) power *= 4;
    if (power != form.rotation || form.columns % form.rotation != 0) {
      tensors_.fail(
          layer + ".comfy_quant",
          fmt::format(
              "convrot_groupsize is {}: a power of 4 that divides the {} columns is expected",
              form.rotation, form.columns));
    }
  }

  void read_awq(ScaledForm& form, const TensorEntry& weight, const std::string& layer,
                const Json& json) {
    want_type(weight, "awq_w4a16", {Dtype::i8, Dtype::u8});
    form.numbers = Numbers::uint4_low_first;
    form.columns *= 2;
    form.block_columns = size_in(json, "group_size", 64, layer);
    if (form.columns % form.block_columns != 0)
      tensors_.fail(weight.name,
                    fmt::format("{} columns in groups of {}", form.columns, form.block_columns));
    form.order = ScaleOrder::columns;
    form.scales = tensors_.need(layer, "weight_scale", form.name);
    form.scale_type = form.scales.entry->dtype;
    if (!is_plain_float(form.scale_type))
      tensors_.fail(form.scales.entry->name, "its type is no float's that is read");
    Shape shape{form.columns / form.block_columns, form.rows};
    want_scale(form.scales, shape, form.scale_type);
    const FoundTensor* zeros = tensors_.take(layer, "weight_zero");
    form.zeros = zeros ? *zeros : tensors_.need(layer, "weight_zeros", form.name);
    want_scale(*form.zeros, shape, form.scale_type);
  }

  LayerTensors& tensors_;
};

}  // namespace

int64_t element_count(const TensorEntry& entry) {
  return static_cast<int64_t>(tensor_bytes(Dtype::u8, entry.shape).value_or(0));
}

int64_t row_elements(const TensorEntry& weight) {
  bool none = weight.shape.empty() || weight.shape[0] == 0;
  return none ? 0 : element_count(weight) / weight.shape[0];
}

ScaledForm read_scaled_form(LayerTensors& tensors, const std::string& format,
                            const TensorEntry& weight, const std::string& layer, const Json& json) {
  return FormReader(tensors).read(format, weight, layer, json);
}

const FoundTensor* LayerTensors::find(const std::string& name) const {
  auto name_of = [](const FoundTensor& tensor) -> const std::string& { return tensor.entry->name; };
  auto place = std::ranges::lower_bound(tensors_, name, {}, name_of);
  return place != tensors_.end() && name_of(*place) == name ? &*place : nullptr;
}

const FoundTensor* LayerTensors::take(const std::string& layer, const char* last) {
  const FoundTensor* found = find(layer + "." + last);
  if (found) used_.insert(found->entry->name);
  return found;
}

const FoundTensor& LayerTensors::need(const std::string& layer, const char* last,
                                      const std::string& format) {
  if (const FoundTensor* found = take(layer, last)) return *found;
  fail(layer + ".weight",
       fmt::format("it is {}, and {} is missing", format, shown_name(layer + "." + last)));
}

void LayerTensors::fail(const std::string& name, std::string message) const {
  throw InvalidFile(
      {fmt::format("{}: tensor {}", file_, shown_name(name)), "", std::move(message), ""});
}

}  // namespace omnirt::io
