#include "python/arrays.hpp"

#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <optional>

#include "python/held.hpp"

namespace omnirt::python {
namespace {

using Array = nb::ndarray<nb::ro>;

nb::dlpack::dtype dtype_of(at::ScalarType type) {
  using Code = nb::dlpack::dtype_code;
  auto made = [](Code code, size_t bytes) {
    return nb::dlpack::dtype{static_cast<uint8_t>(code), static_cast<uint8_t>(bytes * 8), 1};
  };
  const size_t bytes = c10::elementSize(type);
  if (type == at::kBool) return made(Code::Bool, 1);
  if (type == at::kBFloat16) return made(Code::Bfloat, 2);
  if (type == at::kByte) return made(Code::UInt, 1);
  return made(at::isFloatingType(type) ? Code::Float : Code::Int, bytes);
}

std::optional<at::ScalarType> scalar_type_of(nb::dlpack::dtype type) {
  for (at::ScalarType each : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kByte,
                              at::kChar, at::kShort, at::kInt, at::kLong, at::kBool})
    if (dtype_of(each) == type) return each;
  return std::nullopt;
}

Array array_of(nb::handle array, const std::string& what) {
  Array cast;
  if (!nb::try_cast(array, cast) || !cast.is_valid()) {
    std::string type = nb::type_name(array.type()).c_str();
    throw nb::type_error(
        fmt::format("{}: an array is expected (torch, numpy or another with __dlpack__), not {}",
                    what, type)
            .c_str());
  }
  if (cast.device_type() != nb::device::cpu::value) {
    throw nb::type_error(
        fmt::format("{}: the array is on another device than the CPU; give array.cpu()", what)
            .c_str());
  }
  return cast;
}

}  // namespace

nb::object to_torch(const Tensor& tensor) {
  if (!tensor.defined()) return nb::none();
  auto* copy = new Tensor(tensor);
  nb::capsule owner(copy, [](void* kept) noexcept { delete static_cast<Tensor*>(kept); });
  std::vector<size_t> shape(tensor.sizes().begin(), tensor.sizes().end());
  std::vector<int64_t> strides = tensor.strides().vec();
  int device = tensor.is_cuda() ? nb::device::cuda::value : nb::device::cpu::value;
  nb::ndarray<nb::pytorch> array(tensor.data_ptr(), shape.size(), shape.data(), owner,
                                 strides.data(), dtype_of(tensor.scalar_type()), device,
                                 tensor.is_cuda() ? tensor.get_device() : 0);
  // Any other policy makes a copy of it.
  return nb::cast(array, nb::rv_policy::reference);
}

Tensor from_array(nb::handle array, const std::string& what) {
  auto kept = held(array_of(array, what));
  auto type = scalar_type_of(kept->dtype());
  if (!type) throw nb::type_error((what + ": numbers of this type are not taken").c_str());
  std::vector<int64_t> shape, strides;
  for (size_t i = 0; i < kept->ndim(); ++i) {
    shape.push_back(static_cast<int64_t>(kept->shape(i)));
    strides.push_back(kept->stride(i));
  }
  void* data = const_cast<void*>(kept->data());
  return at::from_blob(
      data, shape, strides, [kept](void*) mutable { kept.reset(); },
      at::TensorOptions().dtype(*type).device(at::kCPU));
}

nb::object to_array(io::Image image) {
  auto* copy = new io::Image(std::move(image));
  nb::capsule owner(copy, [](void* kept) noexcept { delete static_cast<io::Image*>(kept); });
  size_t shape[] = {static_cast<size_t>(copy->height), static_cast<size_t>(copy->width),
                    static_cast<size_t>(copy->channels)};
  return nb::cast(nb::ndarray<nb::array_api, uint8_t>(copy->pixels.data(), 3, shape, owner),
                  nb::rv_policy::reference);
}

io::Image image_of(nb::handle array, const std::string& what) {
  Array given = array_of(array, what);
  const bool bytes = given.dtype() == nb::dtype<uint8_t>();
  if (!bytes || given.ndim() != 3 ||
      (given.shape(2) != 1 && given.shape(2) != 3 && given.shape(2) != 4)) {
    throw nb::type_error((what + ": an image is {h, w, c} of bytes, c 1, 3 or 4").c_str());
  }
  const io::ImageLimits limits;
  auto high = static_cast<int64_t>(given.shape(0)), wide = static_cast<int64_t>(given.shape(1));
  if (high < 1 || wide < 1 || high > limits.max_side || wide > limits.max_side ||
      high * wide > limits.max_pixels) {
    throw nb::value_error(fmt::format("{}: an image of {}x{}; sides are 1 to {}, and at most {} "
                                      "pixels are taken",
                                      what, wide, high, limits.max_side, limits.max_pixels)
                              .c_str());
  }
  io::Image image = io::Image::zeros(wide, high, static_cast<int64_t>(given.shape(2)));
  const auto* from = static_cast<const uint8_t*>(given.data());
  uint8_t* to = image.pixels.data();
  for (size_t y = 0; y < given.shape(0); ++y)
    for (size_t x = 0; x < given.shape(1); ++x)
      for (size_t c = 0; c < given.shape(2); ++c)
        *to++ = from[static_cast<int64_t>(y) * given.stride(0) +
                     static_cast<int64_t>(x) * given.stride(1) +
                     static_cast<int64_t>(c) * given.stride(2)];
  return image;
}

}  // namespace omnirt::python
