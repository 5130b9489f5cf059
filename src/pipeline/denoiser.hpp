#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/site_plan.hpp"
#include "runtime/step_cache.hpp"
#include "runtime/value.hpp"

namespace omnirt {

// One prediction wanted: the network's inputs for one image under one condition, each {1, ...}.
struct Row {
  RowId id;
  Values inputs;
  std::string network{};                    // the component that predicts it; "": the loop's own
  std::shared_ptr<const SitePlan> sites{};  // what that does differently; null: nothing
  SharedStep step{};                        // what it shares with the steps before
};

// All rows of one prediction, for step blocks: batches of one step may share what they make.
class AskedRows {
 public:
  AskedRows(const std::vector<Row>& rows, std::function<Values(const std::vector<size_t>&)> join)
      : rows(rows), join_(std::move(join)) {}
  // The inputs of some rows, joined as those of a batch are. They must have equal names and shapes.
  Values inputs_of(const std::vector<size_t>& some) const { return join_(some); }

  const std::vector<Row>& rows;
  std::map<std::string, Values> made;  // what step blocks made for several batches, by their names

 private:
  std::function<Values(const std::vector<size_t>&)> join_;
};

// What is added to the tokens {B, L, D} that one block of the network made, before the next one
// takes them.
using BlockHint = std::function<Tensor(size_t block, const Value& tokens)>;

// Rows that go through the network together. Of inputs that live as long as the run equal rows are
// held once (Value::rows).
struct RowBatch {
  Values inputs;  // {rows, ...}
  RowIds rows;
  std::string network;                    // as in Row
  std::shared_ptr<const SitePlan> sites;  // as in Row
  SharedStep step;                        // as in Row
  AskedRows* asked = nullptr;             // all of the prediction, this batch's among them
  // What ControlNets add that look at what each block made: for a step block that takes the network
  // through its blocks one by one.
  std::vector<BlockHint> hints{};
  // The state after the transformer's last block, where a step block took it there: the loop makes
  // the prediction of it (nn::TransformerNetwork::end).
  Values past_blocks{};
};

// The only place that groups, batches and splits the conditions and images of a request.
class Denoiser {
 public:
  // One prediction of the network for a batch of rows, on the host.
  using Predict = std::function<Tensor(const RowBatch& batch)>;
  Denoiser(Predict network, size_t max_rows) : network_(std::move(network)), max_rows_(max_rows) {}

  // Called with each batch before the network takes it; may add inputs.
  void before(std::function<void(RowBatch& batch)> hook) { before_ = std::move(hook); }

  // One prediction {1, ...} per row, in the rows' order. Rows of one network, site plan and
  // step whose inputs have the same names and shapes go through together, at most max_rows at once.
  std::vector<Tensor> predict(const std::vector<Row>& rows);

 private:
  void predict_group(AskedRows& asked, const std::vector<size_t>& group, std::vector<Tensor>& out);
  RowBatch batch_of(const std::vector<Row>& rows, const std::vector<size_t>& group);
  Value joined(const std::vector<Value>& of_rows);
  Value kept(const std::vector<Value>& distinct);

  Predict network_;
  std::function<void(RowBatch& batch)> before_;
  size_t max_rows_;
  // Values that live as long as the run as they were joined for earlier batches.
  struct Joined {
    std::vector<uint64_t> of;
    std::vector<std::weak_ptr<const void>> alive;
    Value value;
  };
  std::vector<Joined> joined_;
};

}  // namespace omnirt
