#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tensor/tensor.hpp"

namespace omnirt {

// How long a value stays what it is.
enum class Life { step, run };

// A tensor that components and blocks pass to each other, with an identity: copies of a value are
// the same value, wherever its tensor is. What a network makes of a value that lives as long as the
// run is made once (Context::once).
class Value {
 public:
  Value() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a tensor is a value of one step.
  Value(Tensor tensor, Life life = Life::step);

  const Tensor& tensor() const { return tensor_; }
  bool defined() const { return tensor_.defined(); }
  Life life() const { return identity_ ? identity_->life : Life::step; }
  // Of the process; 0 for a value that is not defined.
  uint64_t id() const { return identity_ ? identity_->id : 0; }
  // Expires when no one holds the value any more.
  std::weak_ptr<const void> alive() const { return identity_; }

  // Where rows of a batch are equal, the tensor holds each once: row i of the batch is row
  // rows()[i] of the tensor. Empty: row i is row i.
  const std::vector<int64_t>& rows() const { return rows_; }
  // The same value for another batch.
  Value with_rows(std::vector<int64_t> rows) const;
  // The same value in another place, or with another tensor's storage.
  Value placed(Tensor tensor) const;

 private:
  struct Identity {
    uint64_t id;
    Life life;
  };
  Tensor tensor_;
  std::vector<int64_t> rows_;
  std::shared_ptr<const Identity> identity_;
};

// Values by name, each a list: most have one entry.
using Values = std::map<std::string, std::vector<Value>>;

// A list of results of one name.
std::vector<Value> listed(const std::vector<Tensor>& tensors);
// The results of a call that has one, without a name.
Values result(Tensor tensor);
// The one tensor of a name. Throws InternalError where there is none, or a list.
const Tensor& one(const Values& values, const std::string& name);
// The same of a call with one result.
const Tensor& one(const Values& values);

// On the CPU; waits for the device.
Tensor host(const Value& value);
Tensor host(const Values& values);

}  // namespace omnirt
