#include "runtime/call_memo.hpp"

#include <algorithm>

namespace omnirt {
namespace {

// On the CPU, with memory of their own.
Values copied(const Values& values) {
  Values copies;
  for (const auto& [name, list] : values) {
    for (const Value& value : list)
      copies[name].push_back(Value(host(value).clone(), value.life()).with_rows(value.rows()));
  }
  return copies;
}

size_t bytes_of(const Values& values) {
  size_t bytes = 0;
  for (const auto& [name, list] : values) {
    for (const Value& value : list) bytes += value.tensor().nbytes();
  }
  return bytes;
}

// Of the same key.
bool equal(const Values& a, const Values& b) {
  for (const auto& [name, list] : a) {
    const auto& other = b.at(name);
    for (size_t i = 0; i < list.size(); ++i) {
      if (!list[i].tensor().equal(other[i].tensor())) return false;
    }
  }
  return true;
}

}  // namespace

bool CallMemo::takes(const Values& inputs) {
  int64_t ids = 0;
  for (const auto& [name, list] : inputs) {
    for (const Value& value : list) {
      const Tensor& x = value.tensor();
      if (!x.defined() || !x.device().is_cpu() || at::isFloatingType(x.scalar_type())) return false;
      ids += x.numel();
    }
  }
  return ids > 0 && ids <= static_cast<int64_t>(most_ids);
}

std::list<CallMemo::Entry>::iterator CallMemo::known(const std::string& how, const CallKey& key,
                                                     const Values& inputs) {
  return std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.how == how && entry.key == key && equal(entry.inputs, inputs);
  });
}

std::optional<Values> CallMemo::find(const std::string& how, const ComponentCall& call,
                                     const Values& inputs) {
  std::scoped_lock lock(mutex_);
  auto entry = known(how, call_key(call.variant, inputs), inputs);
  if (entry == entries_.end()) return std::nullopt;
  entries_.splice(entries_.begin(), entries_, entry);
  return copied(entry->results);
}

void CallMemo::keep(const std::string& how, const ComponentCall& call, const Values& inputs,
                    const Values& results) {
  Entry made{how, call_key(call.variant, inputs), copied(inputs), copied(results)};
  made.bytes = bytes_of(made.inputs) + bytes_of(made.results);
  std::scoped_lock lock(mutex_);
  if (made.bytes > most_bytes || known(how, made.key, inputs) != entries_.end()) return;
  bytes_ += made.bytes;
  entries_.push_front(std::move(made));
  while (entries_.size() > most_calls || bytes_ > most_bytes) {
    bytes_ -= entries_.back().bytes;
    entries_.pop_back();
  }
}

}  // namespace omnirt
