#include "pipeline/file_tensor.hpp"

#include "tensor/weight.hpp"

namespace omnirt {

bool is_floating(io::Dtype dtype) {
  return dtype == io::Dtype::f32 || dtype == io::Dtype::f16 || dtype == io::Dtype::bf16;
}

Tensor read_tensor(const io::SafetensorsFile& file, const io::TensorEntry& entry) {
  auto bytes = file.data(entry);
  Weight weight{.name = entry.name,
                .dtype = entry.dtype,
                .shape = entry.shape,
                .data = bytes.data(),
                .bytes = bytes.size(),
                .owner = file.owner(),
                .release = {}};
  return weight.view().to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
}

}  // namespace omnirt
