#pragma once
#include <nanobind/nanobind.h>

#include <memory>

#include "request/given_values.hpp"

namespace omnirt::python {

namespace nb = nanobind;

// omnirt._native.Values: what a call hands over in memory. Each `add_` returns the place by which
// an input of the request names it.
class CallValues {
 public:
  // An array {h, w, c} of bytes; copied.
  size_t add_image(nb::handle array, const std::string& what);
  // fp32 on the CPU; not copied.
  size_t add_latents(nb::handle array, const std::string& what);
  // {name: array}; fp32, not copied.
  size_t add_embeds(const nb::dict& arrays, const std::string& what);
  // States of torch generators {n, bytes}, from which the run draws; and as it left them.
  void set_generators(nb::handle states);
  nb::object generators() const;

  std::shared_ptr<const GivenValues> given() const { return given_; }

 private:
  std::shared_ptr<GivenValues> given_ = std::make_shared<GivenValues>();
};

void bind_values(nb::module_& m);

}  // namespace omnirt::python
