#include "engine/convert_gguf.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.hpp"
#include "io/ggml_quantize.hpp"
#include "io/gguf_writer.hpp"
#include "io/small_float.hpp"
#include "weights/loader.hpp"
#include "weights/original_weights.hpp"
#include "weights/single_file_kind.hpp"
#include "weights/tensor_shapes.hpp"

namespace omnirt {
namespace fs = std::filesystem;
namespace {

// Tensors of fewer numbers are not worth a loss (github city96/ComfyUI-GGUF, tools/convert.py).
constexpr int64_t least_numbers = 1025;
constexpr int64_t flat_row = 256;  // of filters, whose own rows are too short for blocks

// Parts of names of what stays as it is: tables of tokens and positions, what takes the time and
// the class, the first and last layer, and autoencoders (github leejet/stable-diffusion.cpp,
// model.cpp: tensor_should_be_converted; city96/ComfyUI-GGUF, keys_hiprec).
constexpr std::array kept_parts{"embedding.weight",   "token_embd.",       "time_embed.",
                                "label_emb.",         "time_in.",          "vector_in.",
                                "guidance_in.",       "img_in.",           "txt_in.",
                                "final_layer.",       "modulation",        "text_projection",
                                "first_stage_model.", "input_blocks.0.0.", "out.2."};

bool may_be_rounded(const io::TensorSource& tensor, int64_t count) {
  bool kept = std::ranges::any_of(
      kept_parts, [&](const char* part) { return tensor.name.find(part) != std::string::npos; });
  bool numbers = io::is_plain_float(tensor.dtype) || tensor.dtype == io::Dtype::f8_e4m3 ||
                 tensor.dtype == io::Dtype::f8_e5m2;
  return numbers && !kept && count >= least_numbers && tensor.shape.size() >= 2 &&
         tensor.name.ends_with("weight");
}

const io::GgmlType& same_type(const io::TensorSource& tensor) {
  bool fp8 = tensor.dtype == io::Dtype::f8_e4m3 || tensor.dtype == io::Dtype::f8_e5m2;
  const io::Dtype dtype = fp8 ? io::Dtype::f16 : tensor.dtype;
  for (const io::GgmlType& type : io::ggml_types()) {
    if (type.plain == dtype) return type;
  }
  throw Unsupported({tensor.name, std::string(io::dtype_name(tensor.dtype)),
                     "GGUF has no such type", "leave the tensor out, or convert to .safetensors"});
}

std::vector<float> as_floats(io::Dtype dtype, std::span<const std::byte> bytes) {
  const size_t width = io::dtype_bits(dtype) / 8;
  std::vector<float> numbers(bytes.size() / width);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const std::byte* at = bytes.data() + i * width;
    switch (dtype) {
      case io::Dtype::f16:
        numbers[i] = io::widen_f16(io::load_as<uint16_t>(at));
        break;
      case io::Dtype::bf16:
        numbers[i] = io::widen_bf16(io::load_as<uint16_t>(at));
        break;
      case io::Dtype::f8_e4m3:
        numbers[i] = io::widen_f8_e4m3(io::load_as<uint8_t>(at));
        break;
      case io::Dtype::f8_e5m2:
        numbers[i] = io::widen_f8_e5m2(io::load_as<uint8_t>(at));
        break;
      default:
        numbers[i] = io::load_as<float>(at);
    }
  }
  return numbers;
}

std::vector<std::byte> all_bytes(const io::TensorSource& tensor) {
  std::vector<std::byte> bytes;
  tensor.produce([&](std::span<const std::byte> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  });
  return bytes;
}

io::GgufTensor rounded(const io::TensorSource& tensor, const io::GgmlType& type,
                       std::vector<int64_t> shape, std::vector<int64_t> original) {
  auto produce = [&tensor, &type](const io::GgufTensor::Emit& emit) {
    emit(io::quantize(type, as_floats(tensor.dtype, all_bytes(tensor))));
  };
  return {tensor.name, &type, std::move(shape), produce, std::move(original)};
}

// What rows that blocks of 256 do not fit are written in: blocks of 32 with as many bits or the
// next more (github ggml-org/llama.cpp, llama-quant.cpp). Null where none fits.
const io::GgmlType* fitting(const io::GgmlType& wanted, int64_t row) {
  auto fits = [row](const io::GgmlType& type) {
    return row % static_cast<int64_t>(type.block) == 0;
  };
  if (fits(wanted)) return &wanted;
  if (wanted.name != "Q4_K" && wanted.name != "Q5_K") return nullptr;
  const io::GgmlType& smaller = *io::find_ggml_type(wanted.name == "Q4_K" ? "Q5_0" : "Q5_1");
  return fits(smaller) ? &smaller : nullptr;
}

io::GgufTensor gguf_tensor(const io::TensorSource& tensor, const io::GgmlType* wanted) {
  const int64_t count =
      static_cast<int64_t>(io::tensor_bytes(io::Dtype::u8, tensor.shape).value_or(0));
  if (wanted && may_be_rounded(tensor, count)) {
    const io::GgmlType* type = fitting(*wanted, tensor.shape.back());
    if (type) return rounded(tensor, *type, tensor.shape, {});
    if (tensor.shape.size() > 2 && count % flat_row == 0)
      return rounded(tensor, *wanted, {count / flat_row, flat_row}, tensor.shape);
  }
  const io::GgmlType& type = same_type(tensor);
  if (type.plain != tensor.dtype) return rounded(tensor, type, tensor.shape, {});
  return {tensor.name, &type, tensor.shape, tensor.produce, {}};
}

// As city96's files have it.
std::string architecture_of(std::span<const io::TensorSource> tensors) {
  auto any = [&](const char* part) {
    return std::ranges::any_of(tensors, [&](const io::TensorSource& tensor) {
      return tensor.name.find(part) != std::string::npos;
    });
  };
  if (any("double_blocks.0.")) return "flux";
  if (any("transformer_blocks.0.img_mod.")) return "qwen_image";
  if (any("context_refiner.0.")) return "lumina2";  // Z-Image's, too
  if (any("label_emb.0.0.")) return "sdxl";
  if (any("input_blocks.0.0.")) return "sd1";
  if (any("blk.0.attn_q_norm.")) return "qwen3";
  if (any("blk.0.attn_q.bias")) return "qwen2vl";
  return any("enc.blk.0.") ? "t5encoder" : "none";
}

const io::GgmlType* wanted_type(const std::string& name) {
  if (name.empty()) return nullptr;
  const io::GgmlType* type = io::find_ggml_type(name);
  if (type && io::can_quantize(*type)) return type;
  throw Unsupported({"quantize", name,
                     type ? "this type is read, and not written" : "there is no such type",
                     fmt::format("name one of {}", fmt::join(io::written_ggml_types(), ", "))});
}

std::vector<io::TensorSource> tensors_of_file(const io::TensorFiles& files) {
  std::vector<io::TensorSource> tensors;
  for (const std::string& name : files.names()) {
    auto weight = std::make_shared<const Weight>(weight_of(*files.find(name)));
    tensors.push_back(tensor_source(name, weight));
  }
  return tensors;
}

Json convert_component(const Catalogue& catalogue, const ConvertRequest& request) {
  ComponentFolder component = read_component_folder("from", request.from);
  const nn::NetworkInfo* info = catalogue.find_network(component.class_name);
  if (!info) {
    throw Unsupported(
        {"from", request.from.string(),
         "neither a pipeline's folder nor one of a network that this build knows",
         "give a folder with model_index.json, or a component's with its config.json"});
  }
  auto network = info->make(component.config, component.config_file.string());
  auto layouts = network->original_layouts();
  if (layouts.empty()) {
    throw Unsupported({"from", component.class_name,
                       "the network has no original layout, which GGUF's names are those of", ""});
  }
  auto files = io::TensorFiles::open(component.folder, std::span(&info->weights_base, 1));
  auto store = open_weights(files, *network, component.name);
  Json config = component.config;
  config["_class_name"] = component.class_name;
  Json embedded = {{"index", Json::object()}, {"configs", {{"component", config}}}};
  return write_as_gguf(request, original_tensors(*store, *network, layouts.front(), ""),
                       {{single_file_configs, embedded.dump()}});
}

}  // namespace

Json write_as_gguf(const ConvertRequest& request, std::span<const io::TensorSource> tensors,
                   const io::FileMetadata& metadata) {
  const io::GgmlType* wanted = wanted_type(request.quantize);
  std::vector<io::GgufTensor> made;
  std::map<std::string, size_t> types;
  for (const io::TensorSource& tensor : tensors) {
    made.push_back(gguf_tensor(tensor, wanted));
    ++types[made.back().type->common_name()];
  }
  io::GgufTexts texts{{"general.architecture", architecture_of(tensors)}};
  for (const auto& [key, value] : metadata) {
    if (!key.starts_with("general.")) texts.emplace_back(key, value);
  }
  io::stream_gguf(request.to, made, texts);
  std::error_code error;
  return {{"kind", "GGUF"},
          {"tensors", made.size()},
          {"types", types},
          {"bytes", fs::file_size(request.to, error)}};
}

Json convert_weights_to_gguf(const Catalogue& catalogue, const ConvertRequest& request) {
  std::error_code error;
  if (fs::is_directory(request.from, error)) return convert_component(catalogue, request);
  auto files = io::TensorFiles::open_file(request.from);
  return write_as_gguf(request, tensors_of_file(files), files.files().front()->metadata());
}

}  // namespace omnirt
