#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ops/op_table.hpp"
#include "runtime/binding.hpp"

namespace omnirt {

// One try at running a component at a level, and why it was taken or passed over.
struct Attempt {
  std::string level;  // "compile", "kernel_override", "eager"
  bool ok = false;
  std::string reason;
  bool selected = false;
  double ms = 0;
};

struct TimelineEntry {
  std::string component;
  std::vector<Attempt> attempts;
};

struct Capabilities {
  std::vector<std::string> dtype_options;
  bool compile_available = false;
  bool supports_graph_mode = false;
};

struct Availability {
  bool available = false;
  std::string reason;  // what is missing, or what was found
};

struct MemoryStats {
  size_t peak_bytes = 0;
  size_t allocated_bytes = 0;
};

// A component as a backend runs it: the op table that its contexts use, and how that was chosen.
struct WrappedComponent {
  std::shared_ptr<const ops::OpTable> ops;
  TimelineEntry timeline;
};

// A device and its kernels. Levels are tried in order compile -> kernel_override -> eager, by
// wrap_module; every attempt and its reason is recorded. A new backend implements the virtual
// parts; `cpu` and `cpu-stub` show how.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  virtual at::Device device() const = 0;
  // Never throws.
  virtual Availability is_available() const noexcept = 0;
  virtual Capabilities capabilities() const = 0;
  // Called once before a pipeline's first run here, to add kernels and set the device up.
  virtual void prepare() {}
  // The compiled op table of one component. Throws Unsupported with the reason where there is none.
  virtual std::shared_ptr<const ops::OpTable> compile(const std::string& component) = 0;

  WrappedComponent wrap_module(const std::string& component);
  // Adds kernels that serve at level kernel_override; `add` is called on a fresh table.
  void register_override(std::string name, std::function<void(ops::OpTable&)> add);

  virtual void reset_memory_stats() = 0;
  virtual MemoryStats memory_stats() const = 0;
  // Free memory of the device, in GiB.
  virtual double available_memory_gb() const = 0;
  // Waits until the device has done what it was given; stages are timed between two of these.
  virtual void synchronize() {}
  virtual Tensor to_device(const Tensor& x, at::ScalarType dtype) const {
    return x.to(device(), dtype);
  }
  // The form in which this backend wants weights of `dtype`.
  virtual ComputeForm compute_form(at::ScalarType dtype) const { return {dtype, false}; }

 private:
  struct Override {
    std::string name;
    std::function<void(ops::OpTable&)> add;
  };
  std::vector<Override> overrides_;
};

}  // namespace omnirt
