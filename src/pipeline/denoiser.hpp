#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/site_plan.hpp"
#include "nn/denoiser_network.hpp"

namespace omnirt {

// One prediction wanted: the network's inputs for one picture under one condition, each {1, ...}.
struct Row {
  std::map<std::string, Tensor> inputs;
  std::map<std::string, Tensor>
      constants;  // inputs too, that are the same at every step of the run
  std::string condition;
  size_t picture = 0;
  std::string network{};                    // the component that predicts it; "": the loop's own
  std::shared_ptr<const SitePlan> sites{};  // what that does differently; null: nothing
};

// Rows that go through the network together.
struct RowBatch {
  nn::NamedTensors inputs;          // {rows, ...}
  std::set<std::string> constants;  // those of the inputs that are the same at every step
  RowNames rows;
  std::string network;                    // as Row has it
  std::shared_ptr<const SitePlan> sites;  // as Row has it
};

// The only place that groups, batches and splits the conditions and images of a request.
class Denoiser {
 public:
  // One prediction of the network for a batch of rows.
  using Predict = std::function<Tensor(const RowBatch& batch)>;
  Denoiser(Predict network, size_t max_rows) : network_(std::move(network)), max_rows_(max_rows) {}

  // Called with each batch before the network takes it; may add inputs.
  void before(std::function<void(RowBatch& batch)> hook) { before_ = std::move(hook); }

  // One prediction {1, ...} per row, in the rows' order. Rows of one network and site plan whose
  // inputs have the same names and shapes go through together, at most max_rows at once.
  std::vector<Tensor> predict(const std::vector<Row>& rows);

 private:
  void predict_group(const std::vector<Row>& rows, const std::vector<size_t>& group,
                     std::vector<Tensor>& out);
  RowBatch batch_of(const std::vector<Row>& rows, const std::vector<size_t>& group);

  Predict network_;
  std::function<void(RowBatch& batch)> before_;
  size_t max_rows_;
  // Constant inputs as they were batched at an earlier step, by rows and name.
  std::map<std::pair<RowNames, std::string>, Tensor> constants_;
};

}  // namespace omnirt
