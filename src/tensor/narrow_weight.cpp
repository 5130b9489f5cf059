#include "tensor/narrow_weight.hpp"

#include <ATen/ops/aminmax.h>
#include <ATen/ops/from_blob.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <new>

#include "base/error.hpp"

namespace omnirt {
namespace {

// Pages of its own, so that nothing of it stays with an allocator.
std::shared_ptr<void> own_pages(size_t bytes) {
  const size_t size = std::max<size_t>(bytes, 1);
  void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  return {at, [size](void* pages) { munmap(pages, size); }};
}

// Rounding keeps the order of numbers, so the two extremes say it for all of them.
void check_range(const Tensor& numbers, at::ScalarType type, const std::string& name) {
  if (numbers.numel() == 0) return;
  auto [least, most] = at::aminmax(numbers);
  for (const Tensor& extreme : {least, most}) {
    const auto before = extreme.to(at::kFloat).item<float>();
    const auto after = extreme.to(type).to(at::kFloat).item<float>();
    if (!std::isfinite(before) || std::isfinite(after)) continue;
    throw Unsupported({"config.storage_dtype", c10::toString(type),
                       fmt::format("{} holds {}, beyond what the type can hold", name, before),
                       "give float8_e5m2 or bf16, or omit this component"});
  }
}

}  // namespace

Tensor narrowed(const Tensor& numbers, io::Dtype type, const std::string& name) {
  const at::ScalarType scalar = scalar_type(type);
  check_range(numbers, scalar, name);
  const auto bytes = static_cast<size_t>(numbers.numel()) * c10::elementSize(scalar);
  std::shared_ptr<void> pages = own_pages(bytes);
  Tensor made = at::from_blob(
      pages.get(), numbers.sizes(), [pages](void*) {}, at::TensorOptions().dtype(scalar));
  made.copy_(numbers);
  return made;
}

}  // namespace omnirt
