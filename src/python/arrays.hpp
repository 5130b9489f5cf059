#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <vector>

#include "io/image.hpp"
#include "tensor/tensor.hpp"

// Tensors and images as Python has them: by DLPack and the buffer protocol, without a copy. All are
// called with the GIL held.
namespace omnirt::python {

namespace nb = nanobind;

// A torch.Tensor over the same memory, which it keeps alive; None of an undefined one.
nb::object to_torch(const Tensor& tensor);
// The tensor over an array's memory, which it keeps alive: of torch, numpy or whatever has
// __dlpack__, on the CPU. Raises TypeError, naming `what`, for anything else.
Tensor from_array(nb::handle array, const std::string& what);
// An array {h, w, c} of bytes with the buffer protocol and __dlpack__, over the image's pixels.
nb::object to_array(io::Image image);
// An image of an array {h, w, c} of bytes, c 1, 3 or 4. Raises TypeError or ValueError.
io::Image image_of(nb::handle array, const std::string& what);

}  // namespace omnirt::python
