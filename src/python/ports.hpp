#pragma once
#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <vector>

#include "pipeline/frame.hpp"

namespace omnirt::python {

namespace nb = nanobind;

// A port of a block that is written in Python: what it declares, and how its value crosses.
class ValuePort {
 public:
  virtual ~ValuePort() = default;
  virtual const std::string& name() const = 0;
  // None where an optional input is absent.
  virtual nb::object get(Frame& frame) const = 0;
  // Raises AttributeError where the port is not written to, TypeError for another type.
  virtual void set(Frame& frame, nb::handle value) const = 0;
};

// What Python says of a port: {"kind", "type", "name", "help", "shape"}, of a config key {"kind",
// "type", "name", "help", "default", "min", "max", "choices"}. Throws InvalidRequest for a kind or
// type that there is not, with those that there are.
std::unique_ptr<ValuePort> make_port(Block* block, const Json& spec);

// A config key that is declared at run time, with the texts that it points to.
class OwnedKey {
 public:
  virtual ~OwnedKey() = default;
  virtual const KeyInfo& info() const = 0;
};
std::unique_ptr<OwnedKey> make_key(const Json& spec);
// The same of an integer key. Throws InvalidRequest for another type.
std::shared_ptr<const Key<int64_t>> make_integer_key(const Json& spec);

// omnirt._native.Schedule and Noise, which ports of these types give.
void bind_values_of_ports(nb::module_& m);

}  // namespace omnirt::python
