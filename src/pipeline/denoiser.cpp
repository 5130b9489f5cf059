#include "pipeline/denoiser.hpp"

#include <ATen/ops/cat.h>
#include <fmt/format.h>

namespace omnirt {
namespace {

using Signature = std::vector<std::pair<std::string, std::vector<int64_t>>>;

// What rows of one batch have in common.
Signature signature(const Row& row) {
  Signature all{{row.network, {}}, {row.sites ? row.sites->key() : "", {}}};
  for (const auto* inputs : {&row.inputs, &row.constants}) {
    for (const auto& [name, tensor] : *inputs) all.emplace_back(name, tensor.sizes().vec());
  }
  return all;
}

// One input of a group of rows, {rows, ...}.
Tensor batched(const std::vector<Row>& rows, const std::vector<size_t>& group,
               std::map<std::string, Tensor> Row::*inputs, const std::string& name) {
  std::vector<Tensor> parts;
  for (size_t i : group) parts.push_back((rows[i].*inputs).at(name));
  return parts.size() == 1 ? parts.front() : at::cat(parts);
}

}  // namespace

std::vector<Tensor> Denoiser::predict(const std::vector<Row>& rows) {
  std::map<Signature, std::vector<size_t>> groups;
  for (size_t i = 0; i < rows.size(); ++i) groups[signature(rows[i])].push_back(i);
  std::vector<Tensor> out(rows.size());
  for (const auto& [shapes, members] : groups) {
    for (size_t from = 0; from < members.size(); from += max_rows_) {
      size_t to = std::min(members.size(), from + max_rows_);
      predict_group(rows, {members.begin() + from, members.begin() + to}, out);
    }
  }
  return out;
}

void Denoiser::predict_group(const std::vector<Row>& rows, const std::vector<size_t>& group,
                             std::vector<Tensor>& out) {
  RowBatch batch = batch_of(rows, group);
  if (before_) before_(batch);
  Tensor predicted = network_(batch);
  for (size_t k = 0; k < group.size(); ++k) {
    out[group[k]] = predicted.narrow(0, static_cast<int64_t>(k), 1);
  }
}

RowBatch Denoiser::batch_of(const std::vector<Row>& rows, const std::vector<size_t>& group) {
  RowBatch batch;
  for (size_t i : group)
    batch.rows.push_back(fmt::format("{}/{}", rows[i].condition, rows[i].picture));
  batch.network = rows[group.front()].network;
  batch.sites = rows[group.front()].sites;
  for (const auto& [name, first] : rows[group.front()].inputs)
    batch.inputs[name] = batched(rows, group, &Row::inputs, name);
  for (const auto& [name, first] : rows[group.front()].constants) {
    Tensor& kept = constants_[{batch.rows, name}];
    if (!kept.defined()) kept = batched(rows, group, &Row::constants, name);
    batch.inputs[name] = kept;
    batch.constants.insert(name);
  }
  return batch;
}

}  // namespace omnirt
