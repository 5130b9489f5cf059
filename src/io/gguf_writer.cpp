#include "io/gguf_writer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/ensure.hpp"
#include "base/error.hpp"
#include "base/path_text.hpp"
#include "io/gguf.hpp"
#include "io/utf8.hpp"

namespace omnirt::io {
namespace {

constexpr size_t data_alignment = 32;
constexpr uint32_t quantization_version = 2;  // ggml's GGML_QNT_VERSION

size_t padded(size_t bytes) {
  return (bytes + data_alignment - 1) / data_alignment * data_alignment;
}

size_t bytes_of(const GgufTensor& tensor) {
  return *tensor_bytes(Dtype::u8, tensor.shape) / tensor.type->block * tensor.type->bytes;
}

class GgufHeaderWriter {
 public:
  explicit GgufHeaderWriter(const std::filesystem::path& path) : path_(path_text(path)) {}

  std::string write(std::span<const GgufTensor> tensors, const GgufTexts& texts) {
    check(tensors);
    size_t shapes = static_cast<size_t>(std::ranges::count_if(
        tensors, [](const GgufTensor& tensor) { return !tensor.original_shape.empty(); }));
    header_ = "GGUF";
    put<uint32_t>(3);
    put<uint64_t>(tensors.size());
    put<uint64_t>(texts.size() + shapes + 1);
    for (const auto& [key, value] : texts) {
      put_text(key);
      put<uint32_t>(8);
      put_text(value);
    }
    put_text("general.quantization_version");
    put<uint32_t>(4);
    put(quantization_version);
    for (const GgufTensor& tensor : tensors) put_shape_key(tensor);
    for (const GgufTensor& tensor : tensors) put_tensor(tensor);
    header_.resize(padded(header_.size()));
    return std::move(header_);
  }

 private:
  [[noreturn]] void refuse(std::string message) const {
    throw InvalidRequest({path_, "", std::move(message), ""});
  }

  template <typename T>
  void put(T value) {
    header_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  void put_text(const std::string& text) {
    if (find_invalid_utf8(text) != std::string::npos)
      refuse(fmt::format("{} is not UTF-8, and the format holds nothing else", shown_name(text)));
    put<uint64_t>(text.size());
    header_ += text;
  }

  // A list of 32-bit numbers.
  void put_shape_key(const GgufTensor& tensor) {
    if (tensor.original_shape.empty()) return;
    put_text(gguf_shape_key + tensor.name);
    put<uint32_t>(9);
    put<uint32_t>(5);
    put<uint64_t>(tensor.original_shape.size());
    for (int64_t size : tensor.original_shape) put(static_cast<int32_t>(size));
  }

  void put_tensor(const GgufTensor& tensor) {
    put_text(tensor.name);
    put(static_cast<uint32_t>(tensor.shape.size()));
    for (auto size = tensor.shape.rbegin(); size != tensor.shape.rend(); ++size)
      put(static_cast<uint64_t>(*size));
    put(tensor.type->number);
    put<uint64_t>(offset_);
    offset_ += padded(bytes_of(tensor));
  }

  void check(std::span<const GgufTensor> tensors) const {
    if (tensors.size() > max_file_tensors)
      refuse(fmt::format("{} tensors, and the limit is {}", tensors.size(), max_file_tensors));
    std::vector<std::string_view> names;
    for (const GgufTensor& tensor : tensors) {
      names.push_back(tensor.name);
      if (tensor.shape.size() > max_gguf_rank)
        refuse(fmt::format("{} has {} sizes, and the format holds {}", shown_name(tensor.name),
                           tensor.shape.size(), max_gguf_rank));
    }
    std::ranges::sort(names);
    auto twice = std::ranges::adjacent_find(names);
    if (twice != names.end())
      refuse(fmt::format("two tensors have the name {}", shown_name(*twice)));
  }

  std::string path_, header_;
  size_t offset_ = 0;
};

void write_padded(AtomicFile& file, const GgufTensor& tensor) {
  size_t written = 0;
  tensor.produce([&](std::span<const std::byte> bytes) {
    file.write(bytes);
    written += bytes.size();
  });
  ensure(written == bytes_of(tensor), "tensor '{}' takes {} bytes, and {} are given", tensor.name,
         bytes_of(tensor), written);
  file.write(std::string(padded(written) - written, '\0'));
}

}  // namespace

void stream_gguf(const std::filesystem::path& path, std::span<const GgufTensor> tensors,
                 const GgufTexts& texts) {
  std::string header = GgufHeaderWriter(path).write(tensors, texts);
  AtomicFile file(path);
  file.write(header);
  for (const GgufTensor& tensor : tensors) write_padded(file, tensor);
  file.commit();
}

}  // namespace omnirt::io
