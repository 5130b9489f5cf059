#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ops/packing.hpp"
#include "tensor/tensor.hpp"

namespace omnirt::ops {

using Shape = std::vector<int64_t>;

// The caller of an op: the execution that a kernel's failure is reported to.
class Caller {
 public:
  virtual ~Caller() = default;
  // A dry forward: ops return tensors without storage, shaped by their shape rules.
  virtual bool dry() const = 0;
  // A kernel threw; the next one is called. Throws where the user requires the kernels.
  virtual void kernel_failed(const char* op, const std::string& kernel, const char* reason) = 0;
  // Called before an op runs, with its output's shape; for traces and dry forwards.
  virtual void on_op(const char* op, const Shape& output) = 0;
  // Called when that op has run, with what computed it: a kernel's name, or "reference".
  virtual void on_computed(const char* by) = 0;
};

// A faster way to compute an op, brought by a backend. `Args` is the op's argument struct.
template <class Args>
struct Kernel {
  std::string name;
  // By shapes, dtypes and machine, never by batch; asked only of arguments that fit each other.
  std::function<bool(const Args&)> accepts;
  std::function<Tensor(const Args&)> run;
  // Bytes of tensors that run takes in addition to its result; empty: none. A dry forward plans
  // with it, so that accepts must do with tensors without storage too.
  std::function<size_t(const Args&)> temporary = {};
};

// This many bytes without storage.
Tensor meta_bytes(size_t bytes);

// What `reference` makes of tensors without storage; undefined where it cannot do without, or where
// that has another shape.
Tensor dry_reference(const std::function<Tensor()>& reference, const Shape& shape);

class Sampler;

// Arguments of an op by which kernels are compared with its reference (samples/sampler.hpp): `with`
// makes the tensors, whose numbers and place are the sampler's, and passes the arguments to `use`,
// during which they live.
template <class Args>
struct Sample {
  std::string what;
  std::function<void(Sampler& make, const std::function<void(const Args&)>& use)> with;
};

template <class Args>
using Samples = std::vector<Sample<Args>>;

// An op is its argument struct with these statics:
// * name, summary
// * shape: the shape rule
// * reference: the maths, in ATen
// * fits: whether the sizes of all arguments go together as the struct says. What does not fit is
//   never given to a kernel, whose memory is read by these sizes; the reference then says, as an
//   error, what is wrong, or computes it where ATen has a meaning for it (it broadcasts).
// * with_weight, of an op whose weight may come encoded (packing.hpp): the same with another
// weight.
//   Neither a kernel that does not accept it nor the reference sees such a weight
// * samples: each optional argument on and off, odd sizes, layouts
// Kernels are tried in order; the reference serves whatever none of them takes.
template <class Args>
class Op {
 public:
  Tensor operator()(Caller& caller, const Args& args) const {
    Shape shape = Args::shape(args);
    caller.on_op(Args::name, shape);
    if (caller.dry()) return planned(shape, args);
    if (Tensor y = by_kernel(caller, args); y.defined()) return y;
    if constexpr (requires { Args::with_weight(args, args.weight); }) {
      if (encoded_weight(args.weight, args.pack)) {
        const Tensor weight = args.pack->encoded().widened().view(args.weight.sizes());
        const Args widened = Args::with_weight(args, weight);
        Tensor y = by_kernel(caller, widened);
        return y.defined() ? y : by_reference(caller, widened);
      }
    }
    return by_reference(caller, args);
  }

  void add(Kernel<Args> kernel) { kernels_.push_back(std::move(kernel)); }
  const std::vector<Kernel<Args>>& kernels() const { return kernels_; }

 private:
  static Tensor meta(const Shape& shape, const Tensor& like);
  static Tensor by_reference(Caller& caller, const Args& args) {
    Tensor y = Args::reference(args);
    caller.on_computed("reference");
    return y;
  }
  // By the first kernel that accepts and does not fail; undefined where there is none.
  Tensor by_kernel(Caller& caller, const Args& args) const {
    const bool fits = Args::fits(args);
    for (const Kernel<Args>& kernel : kernels_) {
      if (!fits || !kernel.accepts(args)) continue;
      try {
        Tensor y = kernel.run(args);
        caller.on_computed(kernel.name.c_str());
        return y;
      } catch (const std::exception& error) {
        caller.kernel_failed(Args::name, kernel.name, error.what());
        // What a kernel may have begun to write over cannot be computed from again: the whole call
        // is made again at the next level.
        if constexpr (requires { args.into; }) {
          if (args.into) throw;
        }
      }
    }
    return {};
  }
  const Kernel<Args>* kernel_for(const Args& args) const {
    if (!Args::fits(args)) return nullptr;
    for (const Kernel<Args>& kernel : kernels_)
      if (kernel.accepts(args)) return &kernel;
    return nullptr;
  }
  // What a dry forward gets: memory of its own, or that which the arguments let it take; made while
  // the kernel's temporary lives. A reference takes what its own steps do, without storage.
  Tensor planned(const Shape& shape, const Args& args) const {
    Tensor temporary;
    const Kernel<Args>* kernel = kernel_for(args);
    if (kernel && kernel->temporary) temporary = meta_bytes(kernel->temporary(args));
    if (!kernel) temporary = dry_reference([&] { return Args::reference(args); }, shape);
    if (!kernel && temporary.defined()) return temporary;
    if constexpr (requires { args.into; }) {
      if (args.into) return *args.into;
    }
    return meta(shape, like(args));
  }
  // The argument whose dtype the output has: x, unless the op names another.
  static const Tensor& like(const Args& args) {
    if constexpr (requires { Args::like(args); }) {
      return Args::like(args);
    } else {
      return args.x;
    }
  }
  std::vector<Kernel<Args>> kernels_;
};

// A tensor of `shape` without storage, of `like`'s dtype; floating where `like` holds indices.
Tensor meta_tensor(const Shape& shape, const Tensor& like);

template <class Args>
Tensor Op<Args>::meta(const Shape& shape, const Tensor& like) {
  return meta_tensor(shape, like);
}

}  // namespace omnirt::ops
