#include "runtime/joined_call.hpp"

#include <ATen/ops/cat.h>

#include <algorithm>

#include "base/cancel_scope.hpp"
#include "base/clock.hpp"

namespace omnirt {
namespace {

// Row i of the batch is row i of the tensor, or of the tensor's the one that `rows` says.
int64_t place(const Value& value, int64_t row) {
  return value.rows().empty() ? row : value.rows()[static_cast<size_t>(row)];
}

bool in_order(const std::vector<int64_t>& rows, int64_t held) {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] != static_cast<int64_t>(i)) return false;
  }
  return static_cast<int64_t>(rows.size()) == held;
}

bool has_rows(const Value& value, size_t rows) {
  const Tensor& x = value.tensor();
  if (!x.defined() || x.dim() < 1) return false;
  return value.rows().empty() ? x.size(0) == static_cast<int64_t>(rows)
                              : value.rows().size() == rows;
}

bool all_have_rows(const Values& inputs, size_t rows) {
  return std::ranges::all_of(inputs, [&](const auto& named) {
    return std::ranges::all_of(named.second, [&](const Value& v) { return has_rows(v, rows); });
  });
}

// Of one row: size and type.
bool same_row(const Value& a, const Value& b) {
  const Tensor &x = a.tensor(), &y = b.tensor();
  return x.scalar_type() == y.scalar_type() && x.device() == y.device() &&
         x.sizes().slice(1) == y.sizes().slice(1);
}

bool same_rows(const Values& a, const Values& b) {
  return std::ranges::equal(a, b, [](const auto& one, const auto& other) {
    return one.first == other.first && std::ranges::equal(one.second, other.second, same_row);
  });
}

Value join_values(std::span<const Value* const> parts, std::span<const int64_t> counts) {
  std::vector<Tensor> tensors;
  std::vector<int64_t> rows;
  int64_t held = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    for (int64_t row = 0; row < counts[i]; ++row) rows.push_back(held + place(*parts[i], row));
    tensors.push_back(parts[i]->tensor());
    held += tensors.back().size(0);
  }
  Value all(at::cat(tensors));
  return in_order(rows, held) ? all : all.with_rows(std::move(rows));
}

}  // namespace

Values join_batches(std::span<const Values* const> batches, std::span<const int64_t> counts) {
  Values joined;
  for (const auto& [name, list] : *batches.front()) {
    for (size_t k = 0; k < list.size(); ++k) {
      std::vector<const Value*> parts;
      for (const Values* batch : batches) parts.push_back(&batch->at(name)[k]);
      joined[name].push_back(join_values(parts, counts));
    }
  }
  return joined;
}

JoinedCall::JoinedCall(ComponentRun& run, const ComponentCall& call, const Values& inputs,
                       const CancelToken* cancel)
    : run_(run), call_(call), inputs_(inputs), cancel_(cancel) {
  if (call.joins_up_to > rows() && rows() > 0 && all_have_rows(inputs, rows()))
    together_ = run.together();
}

Values JoinedCall::made(SharedTurn& turn) {
  turn.meet(*this);
  if (apart_) turn.meet(*this);
  if (error_) std::rethrow_exception(error_);
  if (runs_ == 1) return std::move(results_);
  // In this run's account, so that the batch goes with the last of its runs.
  for (auto& [name, list] : results_) {
    for (Value& value : list) value = Value(value.tensor().clone());
  }
  if (cancel_) cancel_->check();
  return std::move(results_);
}

bool JoinedCall::same_work(const JoinedCall& other) const {
  return together_ == other.together_ && call_.variant == other.call_.variant &&
         same_rows(inputs_, other.inputs_);
}

bool JoinedCall::joins(std::span<SharedCall* const> others) const {
  if (!together_ || apart_) return false;
  size_t total = rows(), most = call_.joins_up_to;
  for (const SharedCall* each : others) {
    const auto* other = dynamic_cast<const JoinedCall*>(each);
    if (!other || !other->together_ || other->apart_ || !same_work(*other)) return false;
    total += other->rows();
    most = std::min(most, other->call_.joins_up_to);
  }
  return total <= most;
}

void JoinedCall::alone() noexcept {
  try {
    results_ = run_.call(call_, inputs_, cancel_);
  } catch (...) {
    error_ = std::current_exception();
  }
}

void JoinedCall::take(const Values& results, int64_t from) {
  for (const auto& [name, list] : results) {
    for (const Value& value : list)
      results_[name].emplace_back(value.tensor().narrow(0, from, static_cast<int64_t>(rows())));
  }
}

bool JoinedCall::compute(std::span<SharedCall* const> all) noexcept {
  if (all.size() == 1) {
    alone();
    return true;
  }
  const double start = now_ms();
  try {
    std::vector<JoinedCall*> calls;
    std::vector<const Values*> batches;
    std::vector<int64_t> counts;
    for (SharedCall* each : all) {
      calls.push_back(static_cast<JoinedCall*>(each));
      batches.push_back(&calls.back()->inputs_);
      counts.push_back(static_cast<int64_t>(calls.back()->rows()));
    }
    // No run's end is the others'.
    const CancelScope for_all(nullptr);
    const Values results = run_.call_for_several(call_, join_batches(batches, counts));
    int64_t from = 0;
    for (JoinedCall* call : calls) {
      call->take(results, from);
      call->runs_ = calls.size();
      from += static_cast<int64_t>(call->rows());
    }
    return true;
  } catch (...) {
    for (SharedCall* each : all) {
      auto& call = *static_cast<JoinedCall*>(each);
      call.results_.clear();
      call.runs_ = 1;
      call.apart_ = true;
    }
    run_.came_apart(std::current_exception(), all.size(), now_ms() - start);
    return false;
  }
}

}  // namespace omnirt
