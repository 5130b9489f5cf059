#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "io/dtype.hpp"
#include "io/file.hpp"
#include "io/safetensors.hpp"

namespace omnirt::io {

// A tensor to write: contiguous, little-endian, in C order. The bytes are not copied, so they must
// live until the call that writes them returns.
struct TensorView {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

// A tensor whose bytes are made, or come from several places, while the file is written: nothing
// has to hold all of them at once.
struct TensorSource {
  using Emit = std::function<void(std::span<const std::byte>)>;
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<int64_t> shape;
  // Called once, when it is the tensor's turn; emits exactly its bytes, in order.
  std::function<void(const Emit& emit)> produce;
};

// Writes the file whole or not at all (AtomicFile). Its bytes are those that the reference writes
// for the same tensors (crate safetensors 0.8, `prepare`): the tensors sorted by element type, the
// wider first, and then by name, so that each is aligned; the header padded to 8 bytes with spaces;
// metadata sorted by key.
// Throws InvalidRequest for a name that is there twice or "__metadata__", for text that is not
// UTF-8 and for more than the format's limits; what AtomicFile throws; InternalError when bytes and
// shape disagree.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorView> tensors,
                       const FileMetadata& metadata = {}, Readers readers = Readers::umask);
void stream_safetensors(const std::filesystem::path& path, std::span<const TensorSource> tensors,
                        const FileMetadata& metadata = {}, Readers readers = Readers::umask);

}  // namespace omnirt::io
