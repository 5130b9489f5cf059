#include "io/safetensors_writer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <tuple>

#include "base/ensure.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/path_text.hpp"
#include "io/file.hpp"
#include "io/utf8.hpp"

namespace omnirt::io {
namespace {

using Order = std::vector<const TensorSource*>;

class HeaderWriter {
 public:
  explicit HeaderWriter(const std::filesystem::path& path) : path_(path_text(path)) {}

  std::string write(const Order& tensors, const FileMetadata& metadata) {
    if (!metadata.empty()) write_metadata(metadata);
    for (const TensorSource* tensor : tensors) write_tensor(*tensor);
    header_ += '}';
    // The data start at a multiple of 8, the widest element's size.
    header_.append((8 - header_.size() % 8) % 8, ' ');
    if (header_.size() > max_safetensors_header) {
      refuse(fmt::format("the header takes {} bytes, and the limit of the format is {}",
                         header_.size(), max_safetensors_header));
    }
    return std::move(header_);
  }

  [[noreturn]] void refuse(std::string message) const {
    throw InvalidRequest({path_, "", std::move(message), ""});
  }

 private:
  std::string text(const std::string& value) const {
    if (find_invalid_utf8(value) != std::string::npos) {
      refuse(fmt::format("{} is not UTF-8, and the format holds nothing else", shown_name(value)));
    }
    return Json(value).dump();
  }

  void write_metadata(const FileMetadata& metadata) {
    if (metadata.size() > max_safetensors_metadata) {
      refuse(fmt::format("{} keys of metadata, and the limit is {}", metadata.size(),
                         max_safetensors_metadata));
    }
    header_ += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) header_ += text(key) + ':' + text(value) + ',';
    header_.back() = '}';
  }

  void write_tensor(const TensorSource& tensor) {
    std::optional<size_t> bytes = tensor_bytes(tensor.dtype, tensor.shape);
    ensure(bytes.has_value(), "{}: tensor '{}' is {} of shape [{}]", path_, tensor.name,
           dtype_name(tensor.dtype), fmt::join(tensor.shape, ", "));
    size_t end = offset_ + *bytes;
    if (header_.size() > 1) header_ += ',';
    header_ +=
        fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", text(tensor.name),
                    dtype_name(tensor.dtype), fmt::join(tensor.shape, ","), offset_, end);
    offset_ = end;
  }

  std::string path_;
  std::string header_ = "{";
  size_t offset_ = 0;
};

Order in_file_order(std::span<const TensorSource> tensors) {
  Order order;
  for (const TensorSource& tensor : tensors) order.push_back(&tensor);
  std::ranges::sort(order, [](const TensorSource* a, const TensorSource* b) {
    return std::tie(b->dtype, a->name) < std::tie(a->dtype, b->name);
  });
  return order;
}

void require_legal_names(std::span<const TensorSource> tensors, const HeaderWriter& writer) {
  std::vector<std::string_view> names;
  for (const TensorSource& tensor : tensors) names.push_back(tensor.name);
  std::ranges::sort(names);
  auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end()) {
    writer.refuse(fmt::format("two tensors have the name {}", shown_name(*twice)));
  }
  if (std::ranges::binary_search(names, "__metadata__")) {
    writer.refuse("a tensor cannot have the name '__metadata__'");
  }
  if (names.size() > max_file_tensors) {
    writer.refuse(fmt::format("{} tensors, and the limit is {}", names.size(), max_file_tensors));
  }
}

std::array<std::byte, 8> little_endian(uint64_t value) {
  std::array<std::byte, 8> bytes;
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(value >> (8 * i));
  return bytes;
}

void write_bytes(AtomicFile& file, const TensorSource& tensor) {
  size_t written = 0;
  tensor.produce([&](std::span<const std::byte> bytes) {
    file.write(bytes);
    written += bytes.size();
  });
  ensure(written == tensor_bytes(tensor.dtype, tensor.shape),
         "tensor '{}' is {} of shape [{}], and {} bytes are given", tensor.name,
         dtype_name(tensor.dtype), fmt::join(tensor.shape, ", "), written);
}

}  // namespace

void stream_safetensors(const std::filesystem::path& path, std::span<const TensorSource> tensors,
                        const FileMetadata& metadata, Readers readers) {
  HeaderWriter writer(path);
  require_legal_names(tensors, writer);
  Order order = in_file_order(tensors);
  std::string header = writer.write(order, metadata);
  AtomicFile file(path, readers);
  file.write(little_endian(header.size()));
  file.write(header);
  for (const TensorSource* tensor : order) write_bytes(file, *tensor);
  file.commit();
}

void write_safetensors(const std::filesystem::path& path, std::span<const TensorView> tensors,
                       const FileMetadata& metadata, Readers readers) {
  std::vector<TensorSource> sources;
  for (const TensorView& tensor : tensors) {
    sources.push_back({tensor.name, tensor.dtype, tensor.shape,
                       [&tensor](const TensorSource::Emit& emit) { emit(tensor.bytes); }});
  }
  stream_safetensors(path, sources, metadata, readers);
}

}  // namespace omnirt::io
