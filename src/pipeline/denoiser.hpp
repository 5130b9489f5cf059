#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "nn/denoiser_network.hpp"

namespace omnirt {

// One prediction wanted: the network's inputs for one picture under one condition, each {1, ...}.
struct Row {
  std::map<std::string, Tensor> inputs;
  std::map<std::string, Tensor>
      constants;  // inputs too, that are the same at every step of the run
  std::string condition;
  size_t picture = 0;
};

// Rows that go through the network together.
struct RowBatch {
  nn::NamedTensors inputs;          // {rows, ...}
  std::set<std::string> constants;  // those of the inputs that are the same at every step
  RowNames rows;
};

// The only place that groups, batches and splits conditions, pictures and requests.
class Denoiser {
 public:
  // One prediction of the network for a batch of rows.
  using Predict = std::function<Tensor(const RowBatch& batch)>;
  Denoiser(Predict network, size_t max_rows) : network_(std::move(network)), max_rows_(max_rows) {}

  // One prediction {1, ...} a row, in the rows' order. Rows whose inputs have the same names and
  // shapes go through the network together, at most max_rows at once.
  std::vector<Tensor> predict(const std::vector<Row>& rows);

 private:
  void predict_group(const std::vector<Row>& rows, const std::vector<size_t>& group,
                     std::vector<Tensor>& out);
  RowBatch batch_of(const std::vector<Row>& rows, const std::vector<size_t>& group);

  Predict network_;
  size_t max_rows_;
  // Constant inputs as they were batched at an earlier step, by rows and name.
  std::map<std::pair<RowNames, std::string>, Tensor> constants_;
};

}  // namespace omnirt
