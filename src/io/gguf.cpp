#include "io/gguf.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/path_text.hpp"
#include "io/cached_path.hpp"
#include "io/ggml_types.hpp"
#include "io/small_float.hpp"
#include "io/utf8.hpp"

namespace omnirt::io {
namespace {

constexpr std::string_view magic = "GGUF";
constexpr const char* cut_short = "the file may be cut short or damaged: download or copy it again";
constexpr size_t default_alignment = 32;

// The types of values (gguf_type), in the format's order.
enum class Kind : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, list, u64, i64, f64 };

// Bytes of a value; 0 for texts and lists.
size_t width(Kind kind) {
  constexpr size_t widths[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return widths[static_cast<size_t>(kind)];
}

bool is_number(Kind kind) {
  return width(kind) > 0 && kind != Kind::boolean;
}

class GgufReader {
 public:
  GgufReader(std::span<const std::byte> start, size_t file_size, const std::string& file)
      : bytes_(start.first(std::min(start.size(), max_gguf_header))),
        file_size_(file_size),
        file_(file) {}

  WeightHeader read() {
    read_version();
    auto tensors = number<uint64_t>("the number of tensors");
    auto keys = number<uint64_t>("the number of keys");
    if (tensors > max_file_tensors)
      fail(fmt::format("{} tensors, and the limit is {}", tensors, max_file_tensors));
    if (keys > max_gguf_keys)
      fail(fmt::format("{} keys, and the limit is {}", keys, max_gguf_keys));
    for (uint64_t i = 0; i < keys; ++i) read_key();
    for (uint64_t i = 0; i < tensors; ++i) read_tensor();
    header_.data_offset = (at_ + alignment_ - 1) / alignment_ * alignment_;
    refuse_same_names(header_.entries, file_);
    for (TensorEntry& entry : header_.entries) place(entry);
    refuse_overlaps();
    if (!shapes_.empty()) {
      fail(fmt::format("{} names a tensor that the file does not hold",
                       shown_name(gguf_shape_key + shapes_.begin()->first)));
    }
    return std::move(header_);
  }

 private:
  [[noreturn]] void fail(std::string message, std::string fix = "") const {
    throw InvalidFile({file_, "", std::move(message), std::move(fix)});
  }
  [[noreturn]] void fail(const TensorEntry& entry, std::string message,
                         std::string fix = "") const {
    throw InvalidFile({fmt::format("{}: tensor {}", file_, shown_name(entry.name)), "",
                       std::move(message), std::move(fix)});
  }

  std::span<const std::byte> take(uint64_t count, std::string_view what) {
    if (count > bytes_.size() - at_) {
      if (bytes_.size() == max_gguf_header)
        fail(fmt::format("its header is longer than {} bytes, the limit", max_gguf_header));
      fail(fmt::format("{} at byte {} takes {} bytes, and the file ends after {}", what, at_, count,
                       bytes_.size() - at_),
           fix_of_file(file_, cut_short));
    }
    auto taken = bytes_.subspan(at_, count);
    at_ += count;
    return taken;
  }

  template <typename T>
  T number(std::string_view what) {
    return load_as<T>(take(sizeof(T), what).data());
  }

  std::string text(size_t limit, std::string_view what) {
    auto length = number<uint64_t>(what);
    if (length > limit)
      fail(fmt::format("{} of {} bytes at byte {}; the limit is {}", what, length, at_, limit));
    auto taken = take(length, what);
    std::string read(reinterpret_cast<const char*>(taken.data()), taken.size());
    if (find_invalid_utf8(read) != std::string::npos)
      fail(fmt::format("{} {} is not UTF-8", what, shown_name(read)));
    return read;
  }

  void read_version() {
    if (!is_gguf(bytes_)) fail("it does not begin with 'GGUF'");
    take(magic.size(), "the format's name");
    auto version = number<uint32_t>("the version");
    if (version == 2 || version == 3) return;
    bool swapped = (version & 0xFFFFU) == 0 && version != 0;
    throw Unsupported(
        {file_, "",
         swapped ? "a GGUF file for machines that have the highest byte first (big-endian)"
                 : fmt::format("a GGUF file of version {}; 2 and 3 are read", version),
         "convert it with a present version of the program that made it"});
  }

  Kind kind(std::string_view key) {
    auto kind = number<uint32_t>("a value's type");
    if (kind > static_cast<uint32_t>(Kind::f64))
      fail(fmt::format("the type {} of the key {} is not known", kind, shown_name(key)));
    return static_cast<Kind>(kind);
  }

  void read_key() {
    std::string key = text(max_tensor_name, "a key");
    if (!keys_.insert(key).second) fail(fmt::format("the key {} is there twice", shown_name(key)));
    Kind type = kind(key);
    if (type == Kind::list) return read_list(key);
    if (key == "general.alignment") return read_alignment(type);
    header_.metadata.emplace(key, value(type));
  }

  std::string value(Kind type) {
    switch (type) {
      case Kind::text:
        return text(max_gguf_text, "a text");
      case Kind::f32:
        return fmt::format("{}", number<float>("a value"));
      case Kind::f64:
        return fmt::format("{}", number<double>("a value"));
      case Kind::boolean:
        return number<uint8_t>("a value") ? "true" : "false";
      case Kind::u64:
        return fmt::format("{}", number<uint64_t>("a value"));
      default:
        return fmt::format("{}", whole_number(type));
    }
  }

  // Of a type other than u64.
  int64_t whole_number(Kind type) {
    switch (type) {
      case Kind::u8:
        return number<uint8_t>("a value");
      case Kind::i8:
        return number<int8_t>("a value");
      case Kind::u16:
        return number<uint16_t>("a value");
      case Kind::i16:
        return number<int16_t>("a value");
      case Kind::u32:
        return number<uint32_t>("a value");
      case Kind::i32:
        return number<int32_t>("a value");
      default:
        return number<int64_t>("a value");
    }
  }

  void read_alignment(Kind type) {
    uint32_t given = type == Kind::u32 ? number<uint32_t>("the alignment") : 0;
    if (!std::has_single_bit(given) || given > max_gguf_alignment) {
      fail(fmt::format("general.alignment is {}: a power of two as 32 bits is expected, at most {}",
                       given, max_gguf_alignment));
    }
    alignment_ = given;
  }

  // Lists are skipped (a tokenizer's words), except tensors' shapes.
  void read_list(const std::string& key) {
    Kind type = kind(key);
    auto count = number<uint64_t>("a list's length");
    if (type == Kind::list) fail(fmt::format("{} is a list of lists", shown_name(key)));
    if (key.starts_with(gguf_shape_key)) return read_shape(key, type, count);
    if (type == Kind::text) {
      // A text has 8 bytes at least, so that the file's size bounds the count.
      for (uint64_t i = 0; i < count; ++i) take(number<uint64_t>("a list's text"), "a list's text");
      return;
    }
    if (count > std::numeric_limits<uint64_t>::max() / width(type))
      fail(fmt::format("the list {} has {} values", shown_name(key), count));
    take(count * width(type), "a list");
  }

  void read_shape(const std::string& key, Kind type, uint64_t count) {
    bool whole = is_number(type) && type != Kind::f32 && type != Kind::f64 && type != Kind::u64;
    if (!whole || count == 0 || count > max_shape_key_rank)
      fail(fmt::format("{}: a list of 1 to {} whole numbers is expected", shown_name(key),
                       max_shape_key_rank));
    std::vector<int64_t>& shape = shapes_[key.substr(std::string_view(gguf_shape_key).size())];
    for (uint64_t i = 0; i < count; ++i) shape.push_back(whole_number(type));
  }

  void read_tensor() {
    TensorEntry& entry = header_.entries.emplace_back();
    entry.name = text(max_tensor_name, "a tensor's name");
    auto rank = number<uint32_t>("a tensor's rank");
    if (rank > max_gguf_rank)
      fail(entry, fmt::format("it has {} sizes, and the limit is {}", rank, max_gguf_rank));
    for (uint32_t i = 0; i < rank; ++i) {
      auto size = number<uint64_t>("a tensor's sizes");
      if (size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
        fail(entry, fmt::format("a size of {}", size));
      entry.shape.insert(entry.shape.begin(), static_cast<int64_t>(size));
    }
    read_type(entry);
    // From the data's start until `place`.
    entry.offset = number<uint64_t>("a tensor's offset");
  }

  void read_type(TensorEntry& entry) {
    auto type = number<uint32_t>("a tensor's type");
    const GgmlType* known = find_ggml_type(type);
    if (!known) {
      throw Unsupported({fmt::format("{}: tensor {}", file_, shown_name(entry.name)), "",
                         fmt::format("its type is number {} of ggml's, which is not read", type),
                         "convert the model to another type, as Q8_0 or Q4_K"});
    }
    entry.dtype = known->plain.value_or(Dtype::f32);
    if (!known->plain) entry.encoding = ggml_encoding(*known);
    std::optional<size_t> count = element_count(entry.shape);
    // Of an empty tensor, the other sizes count all the same: readers multiply them.
    if (!count || !tensor_bytes(entry.dtype, entry.shape))
      fail(entry, "its sizes multiply to more than 2^63 elements or bits");
    size_t row = entry.shape.empty() ? 1 : static_cast<size_t>(entry.shape.back());
    if (row % known->block != 0) {
      fail(entry, fmt::format("rows of {} elements, and {} has blocks of {}", row, known->name,
                              known->block));
    }
    if (__builtin_mul_overflow(*count / known->block, known->bytes, &entry.bytes))
      fail(entry, "it has more than 2^64 bytes");
  }

  static std::optional<size_t> element_count(const std::vector<int64_t>& shape) {
    return tensor_bytes(Dtype::u8, shape);
  }

  void place(TensorEntry& entry) {
    if (entry.offset % alignment_ != 0) {
      fail(entry, fmt::format("its data begin at {}, which is no multiple of the alignment {}",
                              entry.offset, alignment_));
    }
    size_t data = file_size_ - std::min(file_size_, header_.data_offset);
    if (entry.offset > data || entry.bytes > data - entry.offset) {
      fail(
          entry,
          fmt::format("its {} bytes from {} on reach past the {} bytes of data that the file holds",
                      entry.bytes, entry.offset, data),
          fix_of_file(file_, cut_short));
    }
    entry.offset += header_.data_offset;
    entry.aligned = entry.encoding || entry.offset % dtype_alignment(entry.dtype) == 0;
    auto shape = shapes_.find(entry.name);
    if (shape == shapes_.end()) return;
    if (element_count(shape->second) != element_count(entry.shape) ||
        !tensor_bytes(entry.dtype, shape->second)) {
      fail(entry, fmt::format("its sizes are [{}], and {} says [{}]", fmt::join(entry.shape, ", "),
                              gguf_shape_key, fmt::join(shape->second, ", ")));
    }
    entry.shape = std::move(shape->second);
    shapes_.erase(shape);
  }

  void refuse_overlaps() {
    std::ranges::sort(header_.entries, {}, [](const TensorEntry& entry) {
      return std::pair(entry.offset, entry.bytes);
    });
    for (size_t i = 1; i < header_.entries.size(); ++i) {
      const TensorEntry &before = header_.entries[i - 1], &entry = header_.entries[i];
      if (entry.offset - before.offset < before.bytes)
        fail(entry, fmt::format("its data overlap those of {}", shown_name(before.name)));
    }
  }

  static constexpr uint64_t max_shape_key_rank = 8;

  std::span<const std::byte> bytes_;
  size_t file_size_;
  const std::string& file_;
  size_t at_ = 0;
  WeightHeader header_;
  size_t alignment_ = default_alignment;
  std::set<std::string> keys_;
  std::map<std::string, std::vector<int64_t>> shapes_;  // by tensor, until they are used
};

}  // namespace

bool is_gguf(std::span<const std::byte> start) {
  return start.size() >= magic.size() &&
         std::ranges::equal(start.first(magic.size()), std::as_bytes(std::span(magic)));
}

GgufHeader GgufHeader::parse(std::span<const std::byte> start, size_t file_size,
                             const std::string& file) {
  return {GgufReader(start, file_size, file).read()};
}

std::shared_ptr<const GgufFile> GgufFile::open(std::shared_ptr<const MappedFile> bytes) {
  auto header = GgufHeader::parse(bytes->bytes(), bytes->bytes().size(), path_text(bytes->path()));
  return std::shared_ptr<const GgufFile>(new GgufFile(std::move(bytes), std::move(header)));
}

}  // namespace omnirt::io
