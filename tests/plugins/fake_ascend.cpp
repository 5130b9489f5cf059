// A plug-in as torch's for Ascend is: a library that registers a device as PrivateUse1 when it is
// loaded. This device's memory is the processor's, and it computes by the processor's kernels; its
// tensors are of another device type all the same, so that what was not moved there fails.
// FAKE_ASCEND_GRAPH=fail makes graph mode there and failing; =strict makes it there, computes a
// call once as it is captured, and refuses in it what CUDA refuses in a capture: values that move
// between host and device. Otherwise the device has none.
#include <ATen/EmptyTensor.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/view_native.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace {

using at::IntArrayRef;
using at::Tensor;
const c10::Device device(c10::DeviceType::PrivateUse1, 0);

std::atomic<int64_t> allocated{0}, peak{0};

// Blocks with their size before them.
constexpr size_t header = 64;

void free_block(void* data) {
  if (!data) return;
  auto* block = static_cast<std::byte*>(data) - header;
  int64_t bytes = 0;
  std::memcpy(&bytes, block, sizeof bytes);
  allocated -= bytes;
  std::free(block);
}

class FakeAllocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    auto size = static_cast<int64_t>(bytes);
    auto* block =
        static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 2 * header - 1) / 64 * 64));
    if (!block) throw std::bad_alloc();
    std::memcpy(block, &size, sizeof size);
    int64_t now = allocated += size;
    if (now > peak) peak = now;
    return {block + header, block + header, &free_block, device};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_block; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override {}
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
    c10::CachingDeviceAllocator::DeviceStats stats;
    stats.allocated_bytes[0].current = allocated;
    stats.allocated_bytes[0].peak = peak;
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex) override { peak = allocated.load(); }
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex) override {
    return {size_t{3} << 30, size_t{4} << 30};
  }
};

FakeAllocator allocator;
REGISTER_ALLOCATOR(c10::DeviceType::PrivateUse1, &allocator)

struct FakeGuard final : c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::PrivateUse1> {
  c10::Device exchangeDevice(c10::Device) const override { return device; }
  c10::Device getDevice() const override { return device; }
  c10::Stream getStream(c10::Device) const noexcept override {
    return c10::Stream(c10::Stream::DEFAULT, device);
  }
  c10::Stream exchangeStream(c10::Stream) const noexcept override {
    return c10::Stream(c10::Stream::DEFAULT, device);
  }
  void synchronizeDevice(const c10::DeviceIndex) const override {}
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, FakeGuard)

constexpr c10::DispatchKeySet keys(c10::DispatchKey::PrivateUse1);

Tensor empty(IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
             std::optional<at::Device>, std::optional<bool>,
             std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(size, &allocator, keys, c10::dtype_or_default(dtype), format);
}

Tensor empty_strided(IntArrayRef size, IntArrayRef stride, std::optional<at::ScalarType> dtype,
                     std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(size, stride, &allocator, keys,
                                           c10::dtype_or_default(dtype));
}

// The same memory as a tensor of the processor.
Tensor host(const Tensor& x) {
  if (x.is_cpu()) return x;
  return at::from_blob(x.data_ptr(), x.sizes(), x.strides(),
                       at::TensorOptions().dtype(x.scalar_type()));
}

// Whether this thread captures, and whether it does what a device does by itself: this one computes
// on the processor.
thread_local bool capturing = false, computing = false;

class Computing {
 public:
  Computing() : before_(std::exchange(computing, true)) {}
  ~Computing() { computing = before_; }
  Computing(const Computing&) = delete;
  Computing& operator=(const Computing&) = delete;

 private:
  bool before_;
};

void check_capture(const Tensor& a, const Tensor& b) {
  if (capturing && !computing && a.is_cpu() != b.is_cpu())
    throw std::runtime_error("a captured call moves values between host and device");
}

Tensor& copy(Tensor& self, const Tensor& source, bool) {
  check_capture(self, source);
  host(self).copy_(host(source));
  return self;
}

Tensor copy_from(const Tensor& source, const Tensor& self, bool) {
  check_capture(self, source);
  host(self).copy_(host(source));
  return self;
}

// A result that an op has made where `self` had another size.
Tensor copy_from_and_resize(const Tensor& source, const Tensor& self) {
  if (self.sizes() == source.sizes()) return copy_from(source, self, false);
  Tensor there = source.to(device);
  self.unsafeGetTensorImpl()->set_storage_keep_dtype(there.storage());
  self.unsafeGetTensorImpl()->set_sizes_and_strides(there.sizes(), there.strides());
  return self;
}

Tensor convolution(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                   IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool transposed,
                   IntArrayRef output_padding, int64_t groups) {
  const Computing here;
  std::optional<Tensor> host_bias;
  if (bias && bias->defined()) host_bias = host(*bias);
  return at::convolution(host(input), host(weight), host_bias, stride, padding, dilation,
                         transposed, output_padding, groups)
      .to(device);
}

void by_the_processor(const c10::OperatorHandle& op, torch::jit::Stack* stack);

// The value of a tensor of one number, for which the host waits.
void local_scalar(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  if (capturing && !computing)
    throw std::runtime_error("a captured call waits for a value of the device");
  by_the_processor(op, stack);
}

void by_the_processor(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const Computing here;
  at::native::cpu_fallback(op, stack);
}

bool graph_mode_is(const char* wanted) {
  const char* mode = std::getenv("FAKE_ASCEND_GRAPH");
  return mode && std::strcmp(mode, wanted) == 0;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("copy_", &copy);
  m.impl("_copy_from", &copy_from);
  m.impl("_copy_from_and_resize", &copy_from_and_resize);
  m.impl("view", static_cast<Tensor (*)(const Tensor&, IntArrayRef)>(&at::native::view));
  m.impl("as_strided", &at::native::as_strided_tensorimpl);
  m.impl("_reshape_alias", &at::native::_reshape_alias);
  m.impl("convolution_overrideable", &convolution);
  // A device brings a kernel of its own: ATen's composition for others takes views that images in
  // channels-last order do not have.
  m.impl("_local_scalar_dense", torch::CppFunction::makeFromBoxedFunction<&local_scalar>());
  m.impl("native_group_norm", torch::CppFunction::makeFromBoxedFunction<&by_the_processor>());
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&by_the_processor>());
}

}  // namespace

extern "C" {
int omnirt_graph_supported() {
  return graph_mode_is("fail") || graph_mode_is("strict") ? 1 : 0;
}
void* omnirt_graph_create(int) {
  static int any = 0;
  return &any;
}
int omnirt_graph_begin(void*) {
  capturing = graph_mode_is("strict");
  return capturing ? 0 : 1;
}
int omnirt_graph_end(void*) {
  capturing = false;
  return 0;
}
int omnirt_graph_replay(void*) {
  return 0;
}
void omnirt_graph_destroy(void*) {}
const char* omnirt_graph_error() {
  return "this device records nothing";
}
}
