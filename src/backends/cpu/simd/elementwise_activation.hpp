#pragma once
#include <type_traits>

#include "backends/cpu/simd/types.hpp"

namespace omnirt::cpu {

// Calls body(std::integral_constant<Activation, kind>): the choice is made once, outside the loops.
template <class Body>
void with_activation(Activation kind, const Body& body) {
  switch (kind) {
    case Activation::none:
      return body(std::integral_constant<Activation, Activation::none>());
    case Activation::silu:
      return body(std::integral_constant<Activation, Activation::silu>());
    case Activation::gelu:
      return body(std::integral_constant<Activation, Activation::gelu>());
    case Activation::gelu_tanh:
      return body(std::integral_constant<Activation, Activation::gelu_tanh>());
    case Activation::quick_gelu:
      return body(std::integral_constant<Activation, Activation::quick_gelu>());
    case Activation::relu:
      return body(std::integral_constant<Activation, Activation::relu>());
    case Activation::leaky_relu:
      return body(std::integral_constant<Activation, Activation::leaky_relu>());
  }
}

}  // namespace omnirt::cpu
