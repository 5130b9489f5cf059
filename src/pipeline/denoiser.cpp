#include "pipeline/denoiser.hpp"

#include <ATen/ops/cat.h>

#include <algorithm>

namespace omnirt {
namespace {

using Signature = std::vector<std::pair<std::string, std::vector<int64_t>>>;

// What rows of one batch have in common.
Signature signature(const Row& row) {
  Signature all{{row.network, {static_cast<int64_t>(row.step.index)}},
                {row.sites ? row.sites->key() : "", {}}};
  for (const auto& [name, list] : row.inputs) {
    for (const Value& value : list) all.emplace_back(name, value.tensor().sizes().vec());
  }
  return all;
}

Tensor joined_tensors(const std::vector<Value>& values) {
  std::vector<Tensor> parts;
  for (const Value& value : values) parts.push_back(value.tensor());
  return parts.size() == 1 ? parts.front() : at::cat(parts);
}

bool in_order(const std::vector<int64_t>& rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

}  // namespace

std::vector<Tensor> Denoiser::predict(const std::vector<Row>& rows) {
  std::map<Signature, std::vector<size_t>> groups;
  for (size_t i = 0; i < rows.size(); ++i) groups[signature(rows[i])].push_back(i);
  std::vector<Tensor> out(rows.size());
  AskedRows asked(rows,
                  [&](const std::vector<size_t>& some) { return batch_of(rows, some).inputs; });
  for (const auto& [shapes, members] : groups) {
    for (size_t from = 0; from < members.size(); from += max_rows_) {
      size_t to = std::min(members.size(), from + max_rows_);
      predict_group(asked, {members.begin() + from, members.begin() + to}, out);
    }
  }
  return out;
}

void Denoiser::predict_group(AskedRows& asked, const std::vector<size_t>& group,
                             std::vector<Tensor>& out) {
  RowBatch batch = batch_of(asked.rows, group);
  batch.asked = &asked;
  if (before_) before_(batch);
  Tensor predicted = network_(batch);
  for (size_t k = 0; k < group.size(); ++k) {
    out[group[k]] = predicted.narrow(0, static_cast<int64_t>(k), 1);
  }
}

RowBatch Denoiser::batch_of(const std::vector<Row>& rows, const std::vector<size_t>& group) {
  RowBatch batch;
  for (size_t i : group) batch.rows.push_back(rows[i].id);
  const Row& first = rows[group.front()];
  batch.network = first.network;
  batch.sites = first.sites;
  batch.step = first.step;
  for (const auto& [name, list] : first.inputs) {
    for (size_t k = 0; k < list.size(); ++k) {
      std::vector<Value> of_rows;
      for (size_t i : group) of_rows.push_back(rows[i].inputs.at(name)[k]);
      batch.inputs[name].push_back(joined(of_rows));
    }
  }
  return batch;
}

// Of values that live as long as the run, each is held once.
Value Denoiser::joined(const std::vector<Value>& of_rows) {
  if (of_rows.front().life() == Life::step) return joined_tensors(of_rows);
  std::vector<Value> distinct;
  std::vector<int64_t> rows;
  for (const Value& value : of_rows) {
    auto it = std::ranges::find(distinct, value.id(), &Value::id);
    rows.push_back(it - distinct.begin());
    if (it == distinct.end()) distinct.push_back(value);
  }
  Value all = kept(distinct);
  return in_order(rows) ? all : all.with_rows(std::move(rows));
}

// The same values in the same order are one value at every step.
Value Denoiser::kept(const std::vector<Value>& distinct) {
  if (distinct.size() == 1) return distinct.front();
  std::vector<uint64_t> ids;
  for (const Value& value : distinct) ids.push_back(value.id());
  auto known = std::ranges::find(joined_, ids, &Joined::of);
  if (known != joined_.end()) return known->value;
  auto gone = [](const std::weak_ptr<const void>& alive) { return alive.expired(); };
  std::erase_if(joined_, [&](const Joined& each) { return std::ranges::any_of(each.alive, gone); });
  Joined made{ids, {}, Value(joined_tensors(distinct), Life::run)};
  for (const Value& value : distinct) made.alive.push_back(value.alive());
  return joined_.emplace_back(std::move(made)).value;
}

}  // namespace omnirt
