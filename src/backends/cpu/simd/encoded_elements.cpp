#include "backends/cpu/simd/encoded_elements.hpp"

#include "backends/cpu/simd/widen_blocks.hpp"

namespace omnirt::cpu {

EncodedElements::EncodedElements(const io::Encoding& encoding, const std::byte* data, size_t first)
    : data_(data), encoding_(&encoding), first_(first), unit_(encoding.unit()) {
  auto type = encoding.ggml_type();
  if (type) widen_ = block_widener(*type);
  if (widen_) unit_bytes_ = encoding.bytes(unit_);
}

EncodedElements::EncodedElements(io::Dtype dtype, const std::byte* data)
    : data_(data), widen_(fp8_widener(dtype == io::Dtype::f8_e4m3)) {}

const float* EncodedElements::read(size_t from, size_t count, float* to) const {
  const size_t begin = from / unit_ * unit_;
  const size_t units = (from + count - begin + unit_ - 1) / unit_, elements = units * unit_;
  if (widen_) {
    widen_(data_ + begin / unit_ * unit_bytes_, units, to);
  } else {
    encoding_->widen({data_ + encoding_->bytes(begin), encoding_->bytes(elements)}, first_ + begin,
                     {to, elements});
  }
  return to + (from - begin);
}

}  // namespace omnirt::cpu
