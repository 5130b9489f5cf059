#include "blocks/reference_tokens.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>

namespace omnirt::blocks {

Tensor ids_from_middle(int64_t number, int64_t rows, int64_t columns) {
  Tensor made = at::zeros({rows, columns, 3}, at::kFloat);
  auto from_middle = [](int64_t size) { return at::arange(size, at::kFloat) - (size - size / 2); };
  made.select(2, 0).fill_(number);
  made.select(2, 1).copy_(from_middle(rows).unsqueeze(1));
  made.select(2, 2).copy_(from_middle(columns).unsqueeze(0));
  return made.view({1, rows * columns, 3});
}

}  // namespace omnirt::blocks
