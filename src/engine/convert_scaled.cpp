#include "engine/convert_scaled.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.hpp"
#include "engine/rounded_tensors.hpp"
#include "io/scaled_quantize.hpp"

namespace omnirt {
namespace {

io::ScaledMatrix matrix_of(const io::TensorSource& tensor, io::ScaledFormat format) {
  std::vector<float> numbers = numbers_of(tensor);
  if (!std::ranges::all_of(numbers, [](float number) { return std::isfinite(number); })) {
    throw Unsupported({tensor.name, "", "it holds NaN or infinity, which cannot be scaled",
                       "take the model from where its weights are whole"});
  }
  // fp8's one scale is of the whole matrix.
  if (format == io::ScaledFormat::fp8)
    return io::quantize_scaled(format, tensor.shape.back(), numbers);
  const auto rows = static_cast<size_t>(tensor.shape.front()), columns = numbers.size() / rows;
  io::ScaledMatrix made{io::Dtype::i8,
                        std::vector<std::byte>(numbers.size()),
                        std::vector<float>(rows),
                        {tensor.shape.front(), 1}};
  in_parts(rows, 16, [&](size_t first, size_t count) {
    auto part = io::quantize_scaled(format, tensor.shape.back(),
                                    std::span(numbers).subspan(first * columns, count * columns));
    std::ranges::copy(part.numbers, made.numbers.begin() + static_cast<ptrdiff_t>(first * columns));
    std::ranges::copy(part.scales, made.scales.begin() + static_cast<ptrdiff_t>(first));
  });
  return made;
}

class ScaledTensors {
 public:
  explicit ScaledTensors(io::ScaledFormat format) : format_(format) {}

  void add(const io::TensorSource& tensor) {
    if (tensor.shape.size() == 2 && may_be_rounded(tensor))
      add_matrix(tensor);
    else
      add_as(std::string(io::dtype_name(tensor.dtype)), tensor);
  }
  std::span<const io::TensorSource> tensors() const { return tensors_; }
  const std::map<std::string, size_t>& types() const { return types_; }

 private:
  void add_as(const std::string& type, io::TensorSource tensor) {
    tensors_.push_back(std::move(tensor));
    ++types_[type];
  }

  // The scales are written first, of another type: the numbers are made twice instead of kept.
  void add_matrix(const io::TensorSource& tensor) {
    const std::string layer =
        tensor.name.substr(0, tensor.name.size() - std::string("weight").size());
    const bool fp8 = format_ == io::ScaledFormat::fp8;
    const std::vector<int64_t> scales =
        fp8 ? std::vector<int64_t>{} : std::vector<int64_t>{tensor.shape.front(), 1};
    auto emit_scales = [tensor, format = format_](const io::TensorSource::Emit& emit) {
      const io::ScaledMatrix matrix = matrix_of(tensor, format);
      emit(std::as_bytes(std::span(matrix.scales)));
    };
    auto emit_numbers = [tensor, format = format_](const io::TensorSource::Emit& emit) {
      emit(matrix_of(tensor, format).numbers);
    };
    const std::string settings = io::scaled_settings(format_, tensor.shape.back());
    auto emit_settings = [settings](const io::TensorSource::Emit& emit) {
      emit(std::as_bytes(std::span(settings)));
    };
    add_as(fp8 ? "fp8 scaled" : "int8 scaled",
           {tensor.name, fp8 ? io::Dtype::f8_e4m3 : io::Dtype::i8, tensor.shape, emit_numbers});
    tensors_.push_back({layer + "weight_scale", io::Dtype::f32, scales, emit_scales});
    tensors_.push_back({layer + "comfy_quant",
                        io::Dtype::u8,
                        {static_cast<int64_t>(settings.size())},
                        emit_settings});
  }

  io::ScaledFormat format_;
  std::vector<io::TensorSource> tensors_;
  std::map<std::string, size_t> types_;
};

}  // namespace

Json write_as_scaled(const ConvertRequest& request, std::span<const io::TensorSource> tensors,
                     const io::FileMetadata& metadata) {
  auto format = io::find_scaled_format(request.quantize);
  if (!format) {
    throw Unsupported(
        {"quantize", request.quantize, "safetensors files are not written so",
         fmt::format("name one of {}, or a file that ends with .gguf", io::scaled_format_names)});
  }
  ScaledTensors made(*format);
  for (const io::TensorSource& tensor : tensors) made.add(tensor);
  io::stream_safetensors(request.to, made.tensors(), metadata);
  std::error_code error;
  return {{"kind", "safetensors"},
          {"tensors", tensors.size()},
          {"types", made.types()},
          {"bytes", std::filesystem::file_size(request.to, error)}};
}

}  // namespace omnirt
