#include "pipeline/file_tensor.hpp"

#include "tensor/weight.hpp"

namespace omnirt {

Tensor read_tensor(const std::shared_ptr<const io::SafetensorsFile>& file,
                   const io::TensorEntry& entry) {
  Weight weight = weight_of({file, std::shared_ptr<const io::TensorEntry>(file, &entry)});
  return weight.view().to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
}

}  // namespace omnirt
