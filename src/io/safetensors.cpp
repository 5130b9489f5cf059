#include "io/safetensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "base/ensure.hpp"
#include "base/error.hpp"
#include "base/path_text.hpp"
#include "io/cached_path.hpp"
#include "io/json_scanner.hpp"
#include "io/sniff.hpp"
#include "io/utf8.hpp"

namespace omnirt::io {
namespace {

constexpr size_t length_bytes = 8;
constexpr const char* incomplete =
    "the file may be cut short or damaged: download or copy it again";

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class HeaderReader {
 public:
  HeaderReader(std::string_view header, size_t data_size, const std::string& file)
      : scan_(header, file, length_bytes), data_size_(data_size), file_(file) {
    header_.data_offset = length_bytes + header.size();
  }

  SafetensorsHeader read() {
    scan_.object("the header", [&](std::string name) {
      if (name == "__metadata__") return read_metadata();
      read_tensor(std::move(name));
    });
    scan_.finish();
    refuse_same_names(header_.entries, file_);
    refuse_gaps();
    return std::move(header_);
  }

 private:
  [[noreturn]] void refuse(const TensorEntry& entry, std::string message,
                           std::string way_out = "") const {
    throw InvalidFile({fmt::format("{}: tensor {}", file_, shown_name(entry.name)), "",
                       std::move(message), std::move(way_out)});
  }

  void read_metadata() {
    if (metadata_seen_) scan_.fail("'__metadata__' is there twice");
    metadata_seen_ = true;
    if (scan_.take_null()) return;
    scan_.object("__metadata__", [&](std::string key) {
      if (header_.metadata.size() == max_safetensors_metadata) {
        scan_.fail(fmt::format("more than {} keys in __metadata__", max_safetensors_metadata));
      }
      std::string value = scan_.string("__metadata__, whose values are strings");
      auto [it, added] = header_.metadata.emplace(std::move(key), std::move(value));
      if (!added) scan_.fail(fmt::format("{} is twice in __metadata__", shown_name(it->first)));
    });
  }

  void read_tensor(std::string name) {
    if (header_.entries.size() == max_file_tensors) {
      scan_.fail(fmt::format("more than {} tensors", max_file_tensors));
    }
    if (name.size() > max_tensor_name) {
      scan_.fail(fmt::format("a tensor's name of {} bytes; the limit is {}", name.size(),
                             max_tensor_name));
    }
    TensorEntry& entry = header_.entries.emplace_back();
    entry.name = std::move(name);
    scan_.set_subject(entry.name);
    bool dtype = false, shape = false;
    std::optional<std::pair<size_t, size_t>> range;
    scan_.object("a tensor's entry", [&](const std::string& key) {
      if (key == "dtype" && !dtype) {
        dtype = true;
        read_dtype(entry);
      } else if (key == "shape" && !shape) {
        shape = true;
        read_shape(entry);
      } else if (key == "data_offsets" && !range) {
        range = read_range();
      } else {
        bool twice = key == "dtype" || key == "shape" || key == "data_offsets";
        refuse(entry, fmt::format("the key {} {}", shown_name(key),
                                  twice ? "is there twice" : "is not known"));
      }
    });
    if (!dtype || !shape || !range) {
      refuse(entry, fmt::format("'{}' is missing", !dtype   ? "dtype"
                                                   : !shape ? "shape"
                                                            : "data_offsets"));
    }
    place(entry, range->first, range->second);
    scan_.set_subject({});
  }

  void read_dtype(TensorEntry& entry) {
    std::string name = scan_.string("dtype");
    std::optional<Dtype> dtype = parse_dtype(name);
    if (!dtype) refuse(entry, fmt::format("the dtype {} is not known", shown_name(name)));
    entry.dtype = *dtype;
  }

  void read_shape(TensorEntry& entry) {
    scan_.array("shape", [&] {
      if (entry.shape.size() == max_safetensors_rank) {
        refuse(entry, fmt::format("the shape has more than {} sizes", max_safetensors_rank));
      }
      uint64_t size = scan_.whole_number(INT64_MAX, "shape");
      entry.shape.push_back(static_cast<int64_t>(size));
    });
  }

  std::pair<size_t, size_t> read_range() {
    scan_.expect('[', "data_offsets");
    size_t begin = scan_.whole_number(INT64_MAX, "data_offsets");
    scan_.expect(',', "data_offsets");
    size_t end = scan_.whole_number(INT64_MAX, "data_offsets");
    scan_.expect(']', "data_offsets");
    return {begin, end};
  }

  // Checks the range against the file and the shape.
  void place(TensorEntry& entry, size_t begin, size_t end) {
    std::string range = fmt::format("data_offsets [{}, {}]", begin, end);
    if (end < begin) refuse(entry, range + " end before they begin");
    if (end > data_size_) {
      refuse(
          entry,
          fmt::format("{} reach past the {} bytes of data that the file holds", range, data_size_),
          fix_of_file(file_, incomplete));
    }
    std::string shape =
        fmt::format("{} of shape [{}]", dtype_name(entry.dtype), fmt::join(entry.shape, ", "));
    std::optional<size_t> needed = tensor_bytes(entry.dtype, entry.shape);
    if (!needed) refuse(entry, shape + " is too large, or ends inside a byte");
    if (*needed != end - begin) {
      refuse(entry,
             fmt::format("{} needs {} bytes, and {} hold {}", shape, *needed, range, end - begin));
    }
    entry.offset = header_.data_offset + begin;
    entry.bytes = end - begin;
    entry.aligned = entry.offset % dtype_alignment(entry.dtype) == 0;
  }

  // The tensors must follow each other from the first byte of data to the last (`validate` in the
  // reference), so that no bytes hide in the file and none belong to two tensors.
  void refuse_gaps() {
    auto place = [](const TensorEntry& e) { return std::pair(e.offset, e.bytes); };
    std::ranges::sort(header_.entries, {}, place);
    size_t filled = header_.data_offset;
    const TensorEntry* before = nullptr;
    for (const TensorEntry& entry : header_.entries) {
      size_t begin = entry.offset - header_.data_offset, expected = filled - header_.data_offset;
      if (entry.offset < filled) {
        refuse(
            entry,
            fmt::format("its data overlap those of {}: they begin at {}, and the others end at {}",
                        shown_name(before->name), begin, expected));
      }
      if (entry.offset > filled) {
        refuse(
            entry,
            fmt::format("a gap of {} bytes lies before its data: they begin at {}, and the tensor "
                        "before them ends at {}",
                        begin - expected, begin, expected));
      }
      filled += entry.bytes;
      before = &entry;
    }
    size_t used = filled - header_.data_offset;
    if (used == data_size_) return;
    throw InvalidFile(
        {file_, "",
         fmt::format("the tensors fill {} bytes of data, and the file holds {}: the rest "
                     "belongs to none",
                     used, data_size_),
         fix_of_file(file_, incomplete)});
  }

  JsonScanner scan_;
  size_t data_size_;
  const std::string& file_;
  SafetensorsHeader header_;
  bool metadata_seen_ = false;
};

// Refuses a file that is no safetensors at all by what it looks like instead.
[[noreturn]] void refuse_start(std::span<const std::byte> start, const std::string& file,
                               std::string message) {
  Sniffed sniffed = sniff(start);
  if (sniffed.what.empty()) {
    throw InvalidFile({file, "", std::move(message), fix_of_file(file, incomplete)});
  }
  throw InvalidFile(
      {file, "",
       fmt::format("this is not a safetensors file but looks like {} ({})", sniffed.what, message),
       fix_of_file(file, sniffed.way_out)});
}

// The header's length, checked against the file's.
size_t read_length(std::span<const std::byte> start, size_t file_size, const std::string& file) {
  if (file_size < length_bytes) {
    refuse_start(start, file,
                 fmt::format("the file holds {} bytes, and {} say the header's length", file_size,
                             length_bytes));
  }
  uint64_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) length |= uint64_t(start[i]) << (8 * i);
  if (length > max_safetensors_header) {
    refuse_start(start, file,
                 fmt::format("its header says to be {} bytes long, and the limit is {}", length,
                             max_safetensors_header));
  }
  if (length > file_size - length_bytes) {
    refuse_start(start, file,
                 fmt::format("its header says to be {} bytes long, and the file holds {}", length,
                             file_size));
  }
  return length;
}

}  // namespace

SafetensorsHeader SafetensorsHeader::parse(std::span<const std::byte> start, size_t file_size,
                                           const std::string& file) {
  ensure(start.size() >= std::min(file_size, length_bytes), "{}: too little to parse", file);
  size_t length = read_length(start, file_size, file);
  ensure(start.size() - length_bytes >= length, "{}: the header is not there", file);
  std::string_view header = as_text(start.subspan(length_bytes, length));
  if (!header.starts_with('{')) {
    refuse_start(start, file,
                 fmt::format("its header of {} bytes does not start with '{{'", length));
  }
  return HeaderReader(header, file_size - length_bytes - length, file).read();
}

std::shared_ptr<const SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path,
                                                             Source source) {
  return open(MappedFile::open(path, source));
}

std::shared_ptr<const SafetensorsFile> SafetensorsFile::open(
    std::shared_ptr<const MappedFile> bytes) {
  auto header =
      SafetensorsHeader::parse(bytes->bytes(), bytes->bytes().size(), path_text(bytes->path()));
  return std::shared_ptr<const SafetensorsFile>(
      new SafetensorsFile(std::move(bytes), std::move(header)));
}

}  // namespace omnirt::io
