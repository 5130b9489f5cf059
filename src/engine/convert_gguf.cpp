#include "engine/convert_gguf.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.hpp"
#include "engine/rounded_tensors.hpp"
#include "io/ggml_quantize.hpp"
#include "io/gguf_writer.hpp"

namespace omnirt {
namespace fs = std::filesystem;
namespace {

constexpr int64_t flat_row = 256;  // of filters, whose own rows are too short for blocks

const io::GgmlType& same_type(const io::TensorSource& tensor) {
  bool fp8 = tensor.dtype == io::Dtype::f8_e4m3 || tensor.dtype == io::Dtype::f8_e5m2;
  const io::Dtype dtype = fp8 ? io::Dtype::f16 : tensor.dtype;
  for (const io::GgmlType& type : io::ggml_types()) {
    if (type.plain == dtype) return type;
  }
  throw Unsupported({tensor.name, std::string(io::dtype_name(tensor.dtype)),
                     "GGUF has no such type", "leave the tensor out, or convert to .safetensors"});
}

std::vector<std::byte> blocks_of(const io::GgmlType& type, std::span<const float> numbers) {
  std::vector<std::byte> made(numbers.size() / type.block * type.bytes);
  in_parts(numbers.size() / type.block, 1024, [&](size_t first, size_t count) {
    auto part = io::quantize(type, numbers.subspan(first * type.block, count * type.block));
    std::memcpy(made.data() + first * type.bytes, part.data(), part.size());
  });
  return made;
}

io::GgufTensor rounded(const io::TensorSource& tensor, const io::GgmlType& type,
                       std::vector<int64_t> shape, std::vector<int64_t> original) {
  auto produce = [&tensor, &type](const io::GgufTensor::Emit& emit) {
    emit(blocks_of(type, numbers_of(tensor)));
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
  if (wanted && may_be_rounded(tensor)) {
    const io::GgmlType* type = fitting(*wanted, tensor.shape.back());
    if (type) return rounded(tensor, *type, tensor.shape, {});
    if (tensor.shape.size() > 2 && count % flat_row == 0)
      return rounded(tensor, *wanted, {count / flat_row, flat_row}, tensor.shape);
  }
  const io::GgmlType& type = same_type(tensor);
  if (type.plain != tensor.dtype) return rounded(tensor, type, tensor.shape, {});
  return {tensor.name, &type, tensor.shape, tensor.produce, {}};
}

// The catalogue's, by the longest sign that a name has: signs of one network may be parts of
// another's names.
std::string architecture_of(const Catalogue& catalogue, std::span<const io::TensorSource> tensors) {
  auto any = [&](const std::string& part) {
    return std::ranges::any_of(tensors, [&](const io::TensorSource& tensor) {
      return tensor.name.find(part) != std::string::npos;
    });
  };
  nn::GgufArchitecture found{"", "none"};
  for (const nn::NetworkInfo& info : catalogue.networks) {
    const auto own =
        std::ranges::find_if(info.gguf, [&](const auto& each) { return any(each.sign); });
    if (own != info.gguf.end() && own->sign.size() > found.sign.size()) found = *own;
  }
  return found.name;
}

const io::GgmlType* wanted_type(const std::string& name) {
  if (name.empty()) return nullptr;
  const io::GgmlType* type = io::find_ggml_type(name);
  if (type && io::can_quantize(*type)) return type;
  throw Unsupported({"quantize", name,
                     type ? "this type is read, and not written" : "there is no such type",
                     fmt::format("name one of {}", fmt::join(io::written_ggml_types(), ", "))});
}

}  // namespace

Json write_as_gguf(const Catalogue& catalogue, const ConvertRequest& request,
                   std::span<const io::TensorSource> tensors, const io::FileMetadata& metadata) {
  const io::GgmlType* wanted = wanted_type(request.quantize);
  std::vector<io::GgufTensor> made;
  std::map<std::string, size_t> types;
  for (const io::TensorSource& tensor : tensors) {
    made.push_back(gguf_tensor(tensor, wanted));
    ++types[made.back().type->common_name()];
  }
  io::GgufTexts texts{{"general.architecture", architecture_of(catalogue, tensors)}};
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

}  // namespace omnirt
