#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "nn/denoiser_network.hpp"

namespace omnirt {

// One prediction wanted: the network's inputs for one picture under one condition, each {1, ...}.
struct Row {
  std::map<std::string, Tensor> inputs;
  std::string condition;
  size_t picture = 0;
};

// The only place that groups, batches and splits conditions, pictures and requests.
class Denoiser {
 public:
  // One prediction of the network for a batch of rows.
  using Predict = std::function<Tensor(const nn::NamedTensors& batch)>;
  Denoiser(Predict network, size_t max_rows) : network_(std::move(network)), max_rows_(max_rows) {}

  // One prediction {1, ...} a row, in the rows' order. Rows whose inputs have the same names and
  // shapes go through the network together, at most max_rows at once.
  std::vector<Tensor> predict(const std::vector<Row>& rows) const;

 private:
  void predict_group(const std::vector<Row>& rows, const std::vector<size_t>& group,
                     std::vector<Tensor>& out) const;
  Predict network_;
  size_t max_rows_;
};

}  // namespace omnirt
