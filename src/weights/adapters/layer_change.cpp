#include "weights/adapters/layer_change.hpp"

#include <ATen/ops/einsum.h>
#include <ATen/ops/kron.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/matmul.h>

#include "tensor/weight.hpp"

namespace omnirt::adapters {
namespace {

Tensor factor(const LayerChange& change, const char* name) {
  return read_factor(change.factors.at(name));
}

bool has(const LayerChange& change, const char* name) {
  return change.factors.contains(name);
}

// {n, everything else}
Tensor rows(const Tensor& x) {
  return x.flatten(1);
}

// Of what is said of a whole tensor by rows, the parameter's own.
Tensor own_rows(const LayerChange& change, const Tensor& all) {
  if (change.form == nn::Form::swapped) return all.roll({all.size(0) / 2}, {0});
  if (change.form != nn::Form::rows) return all;
  int64_t each = all.size(0) / static_cast<int64_t>(change.parts);
  return all.narrow(0, static_cast<int64_t>(change.part) * each,
                    static_cast<int64_t>(change.span) * each);
}

// core {i, j, ...}, left {i, p}, right {j, r} -> {p, r, ...}
Tensor tucker(const Tensor& core, const Tensor& left, const Tensor& right) {
  return at::einsum("ijk,ip,jr->prk", {core.flatten(2), left, right});
}

Tensor lora_delta(const LayerChange& change) {
  Tensor up = own_rows(change, rows(factor(change, "up"))), down = rows(factor(change, "down"));
  if (!has(change, "mid")) return at::matmul(up, down);
  return tucker(factor(change, "mid"), up.t(), down);
}

Tensor hadamard_part(const LayerChange& change, const std::string& which) {
  Tensor a = factor(change, ("hada_w" + which + "_a").c_str());
  Tensor b = factor(change, ("hada_w" + which + "_b").c_str());
  std::string core = "hada_t" + which;
  if (!has(change, core.c_str())) return at::matmul(a, rows(b));
  return tucker(factor(change, core.c_str()), a, b);
}

// {rows, columns, kernel} of one side of a Kronecker product.
Tensor kronecker_part(const LayerChange& change, const std::string& name) {
  if (has(change, name.c_str())) return factor(change, name.c_str());
  Tensor a = factor(change, (name + "_a").c_str()), b = factor(change, (name + "_b").c_str());
  if (name == "lokr_w2" && has(change, "lokr_t2")) return tucker(factor(change, "lokr_t2"), a, b);
  return at::matmul(a, rows(b));
}

// The columns of w2 run over inputs and kernel places, the kernel's the faster; so do the
// product's.
Tensor kronecker(const LayerChange& change) {
  return at::kron(rows(kronecker_part(change, "lokr_w1")), rows(kronecker_part(change, "lokr_w2")));
}

Tensor plain_delta(const LayerChange& change) {
  auto whole = [&]() -> Tensor {
    if (change.kind == "loha")
      return rows(hadamard_part(change, "1")) * rows(hadamard_part(change, "2"));
    return change.kind == "lokr" ? kronecker(change) : factor(change, "diff");
  };
  bool product = change.kind == "lora" || change.kind == "dora";
  return product ? lora_delta(change) : own_rows(change, whole());
}

// The norm over all dimensions but `kept`, which stay broadcastable.
Tensor norm_beside(const Tensor& weight, int64_t kept) {
  std::vector<int64_t> dims;
  for (int64_t i = 0; i < weight.dim(); ++i) {
    if (i != kept) dims.push_back(i);
  }
  return at::linalg_vector_norm(weight, 2, dims, /*keepdim=*/true);
}

std::vector<int64_t> along(const Tensor& weight, int64_t dim) {
  std::vector<int64_t> shape(static_cast<size_t>(weight.dim()), 1);
  shape[static_cast<size_t>(dim)] = weight.size(dim);
  return shape;
}

// What a layer with a magnitude becomes.
Tensor decomposed(const Tensor& weight, const Tensor& change, const LayerChange& layer) {
  if (has(layer, "magnitude")) {
    Tensor magnitude = own_rows(layer, factor(layer, "magnitude").flatten());
    magnitude = magnitude.reshape(along(weight, 0));
    Tensor sum = weight + layer.scale * change;
    return sum * (magnitude / norm_beside(sum, 0));
  }
  Tensor stored = factor(layer, "dora_scale");
  // {out, 1}, or {1, in} in older files: the norm of each output's row, or of each input's column.
  int64_t kept = stored.dim() > 1 && stored.size(0) == 1 && weight.size(0) != 1 ? 1 : 0;
  if (kept == 0) stored = own_rows(layer, stored.flatten());
  Tensor sum = weight + change;
  Tensor full = sum * (stored.reshape(along(weight, kept)) / norm_beside(sum, kept));
  return weight + layer.scale * (full - weight);
}

bool has_magnitude(const LayerChange& change) {
  return has(change, "magnitude") || has(change, "dora_scale");
}

}  // namespace

Tensor read_factor(const io::FoundTensor& tensor) {
  return weight_of(tensor).view().to(at::kFloat);
}

Tensor delta(const LayerChange& change) {
  Tensor plain = plain_delta(change).reshape(change.param->shape);
  return change.stored_scale == 1 ? plain : plain * change.stored_scale;
}

Tensor changed(const Tensor& stored, const std::vector<LayerChange>& changes) {
  Tensor weight = stored.to(at::kFloat);
  for (const LayerChange& change : changes) {
    if (change.kind == "norm") weight = factor(change, "norm").reshape(weight.sizes());
  }
  Tensor sum = weight.clone();
  for (const LayerChange& change : changes) {
    if (change.kind == "norm") continue;
    Tensor difference = delta(change);
    if (has_magnitude(change))
      sum += decomposed(weight, difference, change) - weight;
    else
      sum.add_(difference, change.scale);
  }
  return sum;
}

std::optional<SideTerm> side_term(const LayerChange& change) {
  if (change.kind != "lora" || has(change, "mid") || has_magnitude(change)) return std::nullopt;
  const std::vector<int64_t>& shape = change.param->shape;
  Tensor down = factor(change, "down"), up = own_rows(change, rows(factor(change, "up")));
  std::vector<int64_t> down_shape = shape, up_shape(shape.size(), 1);
  down_shape[0] = change.rank;
  up_shape[0] = shape[0];
  up_shape[1] = change.rank;
  return SideTerm{down.reshape(down_shape), up.reshape(up_shape),
                  change.stored_scale * change.scale};
}

}  // namespace omnirt::adapters
