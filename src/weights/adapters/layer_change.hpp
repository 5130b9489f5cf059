#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/sharded.hpp"
#include "nn/original_layout.hpp"
#include "runtime/overlay.hpp"
#include "runtime/param.hpp"

namespace omnirt::adapters {

// What an adapter does to one parameter, in the form that all layouts are converted to. The tensors
// of the file are read when they are needed.
struct LayerChange {
  std::string component;
  const Param* param = nullptr;
  // "lora", "dora" (a lora with a magnitude), "loha", "lokr", "diff", "norm" (a weight in place of
  // the model's, whatever the scale, as in the reference)
  std::string kind;
  std::map<std::string, io::FoundTensor> factors;  // by FileLayer's names of parts
  // Where the file names a tensor of the original layout that is stored otherwise: of whose `parts`
  // stacks of rows the parameter is `span` from `part` on, or whose halves are swapped. The factors
  // are the whole tensor's.
  nn::Form form = nn::Form::same;
  size_t part = 0, parts = 1, span = 1;
  int64_t rank = 0;  // 0: none (diff, a lokr of whole matrices)
  std::optional<double> alpha = std::nullopt;
  double stored_scale = 1;  // by alpha and rank, as the file says
  double scale = 1;         // as the request says
};

// The change of the weight that the factors make, stored_scale in it and scale not: fp32, shaped as
// the parameter.
//   lora: up down (Hu et al. 2021, arXiv 2106.09685); with `mid`, Tucker's form.
//   loha: (w1_a w1_b) * (w2_a w2_b), lokr: w1 (x) w2 (LyCORIS, Yeh et al. 2023, arXiv 2309.14859).
//   diff: as it is.
Tensor delta(const LayerChange& change);

// stored + what all changes make of it, each by itself, fp32. A magnitude takes the place of the
// changed weight's norm (DoRA, Liu et al. 2024, arXiv 2402.09353): PEFT's scales the change before
// the norm is taken, LyCORIS' goes from the stored weight to the changed one by the scale.
Tensor changed(const Tensor& stored, const std::vector<LayerChange>& changes);

// The change as a term next to the weight; nullopt where it is no plain LoRA.
std::optional<SideTerm> side_term(const LayerChange& change);

// A tensor of a file, fp32.
Tensor read_factor(const io::FoundTensor& tensor);

}  // namespace omnirt::adapters
