#include "io/scaled_tensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/error.hpp"
#include "base/json.hpp"
#include "io/scaled_forms.hpp"
#include "io/utf8.hpp"

namespace omnirt::io {
namespace {

constexpr const char* metadata_key = "_quantization_metadata";
constexpr size_t max_metadata = 16'000'000;  // bytes; real ones take 50 KB
constexpr size_t max_layer_json = 65'536;    // bytes; real ones take 100
// The names of a layer's scales, after its own name.
constexpr std::array scale_names{
    "weight_scale", "weight_scale_2",   "weight_scale_inv", "input_scale",      "scale_weight",
    "scale_input",  "weight_zero",      "weight_zeros",     "pre_quant_scale",  "comfy_quant",
    "weight_s_rel", "weight_s_channel", "weight_codebook",  "weight_correction"};

struct NameParts {
  std::string layer, last;  // "blocks.0.proj", "weight_scale"
};

NameParts split(const std::string& name) {
  size_t dot = name.rfind('.');
  if (dot == name.npos) return {"", name};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

bool names_a_scale(const std::string& last) {
  return std::ranges::find(scale_names, last) != scale_names.end();
}

bool ends_a_name(const std::string& name, std::string_view end) {
  return name == end || (name.ends_with(end) && name[name.size() - end.size() - 1] == '.');
}

class ScaleFolder {
 public:
  ScaleFolder(std::vector<FoundTensor> tensors, const FileMetadata& metadata,
              const std::string& file)
      : tensors_(std::move(tensors)),
        metadata_(metadata),
        file_(file),
        layer_tensors_(tensors_, file_) {}

  std::vector<FoundTensor> run() {
    refuse_other_layouts();
    if (!any_scales()) return std::move(tensors_);
    read_metadata();
    read_layer_json();
    read_old_marker();
    for (FoundTensor& tensor : tensors_) {
      NameParts parts = split(tensor.entry->name);
      if (parts.last == "weight" && !parts.layer.empty()) fold(tensor, parts.layer);
    }
    refuse_unused();
    std::erase_if(tensors_,
                  [&](const FoundTensor& each) { return layer_tensors_.used(each.entry->name); });
    return std::move(tensors_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what, const std::string& by) const {
    throw Unsupported({file_, "", fmt::format("{} (by its tensor {})", what, shown_name(by)),
                       quantized_elsewhere});
  }

  // Layouts that are made for the matrix units of GPUs, or whose definition is a program's own.
  void refuse_other_layouts() const {
    for (const FoundTensor& tensor : tensors_) {
      const std::string& name = tensor.entry->name;
      NameParts parts = split(name);
      if (parts.last == "qweight" && layer_tensors_.find(parts.layer + ".wscales"))
        refuse("its weights are in Nunchaku's layout", name);
      if (name.find(".quant_state.bitsandbytes__") != name.npos || parts.last == "SCB")
        refuse("its weights are in bitsandbytes' layout", name);
      const FoundTensor* weight =
          parts.last == "scale" ? layer_tensors_.find(parts.layer + ".weight") : nullptr;
      bool whole =
          weight && (weight->entry->dtype == Dtype::u8 || weight->entry->dtype == Dtype::i8);
      if (whole || (parts.last == "svd_up" && layer_tensors_.find(parts.layer + ".svd_down")))
        refuse("its weights are in SDNQ's layout", name);
    }
  }

  bool any_scales() const {
    return metadata_.contains(metadata_key) ||
           std::ranges::any_of(tensors_, [](const FoundTensor& tensor) {
             const std::string& name = tensor.entry->name;
             return names_a_scale(split(name).last) || ends_a_name(name, "scaled_fp8");
           });
  }

  // -------------------------------------------------------------------- what layers are said to be
  void add_layer(const std::string& layer, Json json, const std::string& where) {
    if (json.is_string()) json = Json{{"format", json}};
    if (!json.is_object())
      throw InvalidFile({where, shown(json), "an object with 'format' is expected", ""});
    Json params = json.value("params", Json());
    if (params.is_object()) {
      for (const auto& [key, value] : params.items())
        if (!json.contains(key)) json[key] = value;
    }
    layers_[layer] = std::move(json);
  }

  void read_metadata() {
    auto it = metadata_.find(metadata_key);
    if (it == metadata_.end()) return;
    std::string where = fmt::format("{} (metadata {})", file_, metadata_key);
    Json json = parse_json(it->second, where, max_metadata);
    if (!json.is_object() || !json.contains("layers") || !json["layers"].is_object())
      throw InvalidFile({where, "", "an object with 'layers' is expected", ""});
    for (const auto& [name, layer] : json["layers"].items()) {
      std::string own = layer_named(name);
      if (own.empty()) throw InvalidFile({where, name, "the file has no such layer", ""});
      add_layer(own, layer, where);
    }
  }

  // Names there may lack the file's prefix, or have one that the file lacks.
  std::string layer_named(const std::string& name) const {
    constexpr std::array<std::string_view, 3> prefixes{"model.diffusion_model.", "diffusion_model.",
                                                       "model."};
    if (layer_tensors_.find(name + ".weight")) return name;
    for (std::string_view prefix : prefixes) {
      std::string longer = std::string(prefix) + name;
      if (layer_tensors_.find(longer + ".weight")) return longer;
      if (!name.starts_with(prefix)) continue;
      std::string shorter = name.substr(prefix.size());
      if (layer_tensors_.find(shorter + ".weight")) return shorter;
    }
    return "";
  }

  void read_layer_json() {
    for (const FoundTensor& tensor : tensors_) {
      const TensorEntry& entry = *tensor.entry;
      NameParts parts = split(entry.name);
      if (ends_a_name(entry.name, "comfy_attention.config")) layer_tensors_.use(entry.name);
      if (parts.last != "comfy_quant") continue;
      if (entry.dtype != Dtype::u8 || entry.bytes > max_layer_json)
        layer_tensors_.fail(
            entry.name, fmt::format("JSON of at most {} bytes as U8 is expected", max_layer_json));
      auto bytes = tensor.data();
      std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      add_layer(parts.layer, parse_json(text, file_ + ": " + entry.name, max_layer_json),
                entry.name);
    }
  }

  // ComfyUI's first layout: below the marker's prefix, each matrix of fp8 has a scale.
  void read_old_marker() {
    for (const FoundTensor& tensor : tensors_) {
      const std::string& name = tensor.entry->name;
      if (!ends_a_name(name, "scaled_fp8")) continue;
      layer_tensors_.use(name);
      std::string prefix = name.substr(0, name.size() - std::string_view("scaled_fp8").size());
      for (const FoundTensor& each : tensors_) {
        const TensorEntry& entry = *each.entry;
        NameParts parts = split(entry.name);
        if (!entry.name.starts_with(prefix) || parts.last != "weight") continue;
        bool fp8 = entry.dtype == Dtype::f8_e4m3 || entry.dtype == Dtype::f8_e5m2;
        if (fp8 && entry.shape.size() > 1 && !layers_.contains(parts.layer)) {
          layers_[parts.layer] = {
              {"format", entry.dtype == Dtype::f8_e4m3 ? "float8_e4m3fn" : "float8_e5m2"}};
        }
      }
    }
  }

  // ------------------------------------------------------------------------------ a layer's
  // tensors The format by the tensors alone, where nothing says it; "" for plain ones.
  std::string format_of(const TensorEntry& weight, const std::string& layer) const {
    bool scale = layer_tensors_.find(layer + ".weight_scale") ||
                 layer_tensors_.find(layer + ".scale_weight");
    if (layer_tensors_.find(layer + ".weight_scale_inv")) return fp8_in_blocks;
    if (layer_tensors_.find(layer + ".weight_scale_2")) return nvfp4_of_diffusers;
    if (!scale) return "";
    if (weight.dtype == Dtype::f8_e4m3) return "float8_e4m3fn";
    if (weight.dtype == Dtype::f8_e5m2) return "float8_e5m2";
    if (weight.dtype == Dtype::i8) return "int8_tensorwise";
    return "";
  }

  void fold(FoundTensor& tensor, const std::string& layer) {
    Json json = Json::object();
    std::string format;
    auto said = layers_.find(layer);
    if (said != layers_.end()) {
      json = said->second;
      layer_tensors_.take(layer, "comfy_quant");
      auto named = json.find("format");
      if (named != json.end() && named->is_string()) format = named->get<std::string>();
      if (format.empty()) layer_tensors_.fail(layer + ".comfy_quant", "it names no format");
    } else {
      format = format_of(*tensor.entry, layer);
    }
    if (format.empty()) return;
    ScaledForm form = read_scaled_form(layer_tensors_, format, *tensor.entry, layer, json);
    take_input_scales(layer);
    auto entry = std::make_shared<TensorEntry>(*tensor.entry);
    if (form.columns != row_elements(*entry)) entry->shape = {form.rows, form.columns};
    entry->dtype = Dtype::f32;
    entry->aligned = true;
    entry->encoding = scaled_encoding(std::move(form));
    tensor.entry = std::move(entry);
  }

  // Those of activations, which are not rounded here.
  void take_input_scales(const std::string& layer) {
    for (const char* last : {"input_scale", "scale_input"}) {
      const FoundTensor* scale = layer_tensors_.take(layer, last);
      if (scale && element_count(*scale->entry) != 1)
        layer_tensors_.fail(scale->entry->name, fmt::format("[{}]: one number is expected",
                                                            fmt::join(scale->entry->shape, ", ")));
    }
  }

  void refuse_unused() const {
    for (const auto& [layer, json] : layers_) {
      if (!layer_tensors_.find(layer + ".weight"))
        layer_tensors_.fail(layer + ".comfy_quant", "the file has no such layer");
    }
    for (const FoundTensor& tensor : tensors_) {
      const std::string& name = tensor.entry->name;
      NameParts parts = split(name);
      if (layer_tensors_.used(name) || !names_a_scale(parts.last)) continue;
      bool weight = layer_tensors_.find(parts.layer + ".weight") != nullptr;
      layer_tensors_.fail(
          name,
          weight ? fmt::format("superfluous: {} is not stored in a way that takes it",
                               shown_name(parts.layer + ".weight"))
                 : fmt::format("superfluous: there is no {}", shown_name(parts.layer + ".weight")));
    }
  }

  std::vector<FoundTensor> tensors_;
  const FileMetadata& metadata_;
  const std::string& file_;
  std::map<std::string, Json> layers_;
  LayerTensors layer_tensors_;
};

}  // namespace

std::vector<FoundTensor> fold_scales(std::vector<FoundTensor> tensors, const FileMetadata& metadata,
                                     const std::string& file) {
  return ScaleFolder(std::move(tensors), metadata, file).run();
}

}  // namespace omnirt::io
