#include "expand/packed_file.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"
#include "expand/normal_stream.hpp"
#include "io/sha256.hpp"
#include "io/small_float.hpp"

namespace omnirt::testing {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw InvalidFile({path + std::string(packed_suffix), "", what,
                     "restore it from git, or pack it again: tools/goldens/pack.py"});
}

size_t size_of_type(const std::string& type, const std::string& path) {
  if (type == "F32") return 4;
  if (type == "F16" || type == "BF16") return 2;
  refuse(path, fmt::format("unknown type {}", type));
}

std::string inflate(std::string_view packed, const std::string& path) {
  const size_t start = packed_magic.size() + sizeof(uint64_t);
  if (packed.size() < start || !packed.starts_with(packed_magic)) refuse(path, "not a packed file");
  const auto size = io::load_as<uint64_t>(
      reinterpret_cast<const std::byte*>(packed.data() + packed_magic.size()));
  if (size > max_expanded)
    refuse(path, fmt::format("{} bytes; the limit is {}", size, max_expanded));
  std::string bytes(size, '\0');
  uLongf inflated = size;
  const int status =
      uncompress(reinterpret_cast<Bytef*>(bytes.data()), &inflated,
                 reinterpret_cast<const Bytef*>(packed.data() + start), packed.size() - start);
  if (status != Z_OK || inflated != size) refuse(path, "its zlib stream is damaged");
  return bytes;
}

// Undoes the grouping of bytes: all first bytes of values of `width` bytes, all second ones, ...
std::string ungroup(std::string_view grouped, size_t width) {
  const size_t count = grouped.size() / width;
  std::string bytes(grouped);
  for (size_t i = 0; i < count; ++i) {
    for (size_t place = 0; place < width; ++place)
      bytes[i * width + place] = grouped[place * count + i];
  }
  return bytes;
}

uint32_t value_at(const std::string& bytes, size_t index, size_t width) {
  uint32_t value = 0;
  std::memcpy(&value, bytes.data() + index * width, width);
  return value;
}

// Differences are stored as 0, -1, 1, -2, 2, ...
uint32_t signed_of(uint32_t folded) {
  return folded >> 1 ^ (0 - (folded & 1));
}

uint32_t bits_of(float value, const std::string& type) {
  if (type == "F16") return io::narrow_f16(value);
  if (type == "BF16") return io::narrow_bf16(value);
  return std::bit_cast<uint32_t>(value);
}

class Unpacker {
 public:
  Unpacker(const std::string& path, std::string_view payload, const ReadExpanded& expanded)
      : path_(path), payload_(payload), expanded_(expanded) {}

  void add(const Json& part) {
    const std::string kind = part.at(0);
    if (kind == "bytes")
      add_bytes(part);
    else if (kind == "normal")
      add_normals(part);
    else if (kind == "unorm16")
      add_pixels(part);
    else if (kind == "copy")
      add_copy(part);
    else
      refuse(path_, fmt::format("unknown kind of part {}", kind));
  }

  std::string finish() {
    if (!payload_.empty())
      refuse(path_, fmt::format("{} bytes belong to no part", payload_.size()));
    return std::move(made_);
  }

 private:
  std::string_view take(size_t count, size_t width) {
    if (count > payload_.size() / width || made_.size() > max_expanded)
      refuse(path_, "a part exceeds the file");
    const std::string_view taken = payload_.substr(0, count * width);
    payload_.remove_prefix(count * width);
    return taken;
  }

  void add_bytes(const Json& part) {
    const size_t count = part.at(1), width = part.at(2);
    if (width < 1 || width > 8 || count % width > 0)
      refuse(path_, fmt::format("{} bytes are no values of {} bytes", count, width));
    made_ += ungroup(take(count, 1), width);
  }

  void add_normals(const Json& part) {
    const size_t count = part.at(1), draw = part.at(4);
    const std::string type = part.at(2);
    const size_t width = size_of_type(type, path_);
    const std::string folded = ungroup(take(count, width), width);
    if (count < 16 || draw > max_expanded)
      refuse(path_, "a part draws too few or too late numbers");
    NormalStream& stream = streams_.try_emplace(part.at(3), part.at(3)).first->second;
    const auto normals = stream.values(draw, count);
    const float gain = part.at(5), plus = part.at(7);
    const auto root = static_cast<float>(std::sqrt(part.at(6).get<double>()));
    for (size_t i = 0; i < count; ++i) {
      const float scaled = normals[i] * gain / root;
      const uint32_t bits =
          bits_of(plus != 0 ? plus + scaled : scaled, type) + signed_of(value_at(folded, i, width));
      made_.append(reinterpret_cast<const char*>(&bits), width);
    }
  }

  void add_pixels(const Json& part) {
    const size_t count = part.at(1), row = part.at(2);
    const std::string folded = ungroup(take(count, 2), 2);
    if (row == 0) refuse(path_, "an image without columns");
    std::vector<uint16_t> levels(count);
    for (size_t i = 0; i < count; ++i) {
      const bool inner = i % row > 0, lower = i >= row;
      const uint32_t left = inner ? levels[i - 1] : 0, above = lower ? levels[i - row] : 0;
      const uint32_t corner = inner && lower ? levels[i - row - 1] : 0;
      levels[i] = static_cast<uint16_t>(left + above - corner + signed_of(value_at(folded, i, 2)));
      const float value = static_cast<float>(levels[i]) / 65535.0F;
      made_.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
  }

  void add_copy(const Json& part) {
    const std::string from = part.at(1);
    const size_t offset = part.at(2), count = part.at(3);
    if (from > path_) refuse(path_, fmt::format("copies from {}, which comes later", from));
    if (from == path_)
      source_ = made_;
    else if (from != copied_)
      source_ = expanded_(from);
    copied_ = from;
    if (offset > source_.size() || count > source_.size() - offset)
      refuse(path_, fmt::format("copies more of {} than there is", from));
    made_.append(source_, offset, count);
  }

  const std::string& path_;
  std::string_view payload_;
  const ReadExpanded& expanded_;
  std::map<uint32_t, NormalStream> streams_;
  std::string made_, copied_, source_;
};

}  // namespace

std::string unpack(std::string_view packed, const std::string& path, const ReadExpanded& expanded) {
  const std::string bytes = inflate(packed, path);
  uint32_t header_size = 0;
  if (bytes.size() < sizeof header_size) refuse(path, "no header");
  std::memcpy(&header_size, bytes.data(), sizeof header_size);
  if (header_size > bytes.size() - sizeof header_size) refuse(path, "its header exceeds the file");
  const std::string_view rest = std::string_view(bytes).substr(sizeof header_size);
  try {
    const Json header = parse_json(rest.substr(0, header_size), path);
    Unpacker unpacker(path, rest.substr(header_size), expanded);
    for (const Json& part : header.at("parts")) unpacker.add(part);
    std::string made = unpacker.finish();
    io::Sha256 sum;
    sum.add(made);
    if (sum.hex() != header.at("sha256")) refuse(path, "makes a file of another SHA-256");
    return made;
  } catch (const Json::exception& error) {
    refuse(path, fmt::format("a malformed header: {}", error.what()));
  }
}

}  // namespace omnirt::testing
