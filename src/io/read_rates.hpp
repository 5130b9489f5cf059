#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace omnirt::io {

// A file as its reading is measured.
class ReadSource {
 public:
  ReadSource() = default;
  ReadSource(const ReadSource&) = delete;
  ReadSource& operator=(const ReadSource&) = delete;
  virtual ~ReadSource() = default;
  virtual uint64_t bytes() const = 0;
  // Reads past the page cache (O_DIRECT); false where the file system refuses that. `offset` and
  // the size of `to` are multiples of 4096, and so is its address.
  virtual bool read_direct(uint64_t offset, std::span<std::byte> to) = 0;
  // As programs read; false where it cannot be read.
  virtual bool read(uint64_t offset, std::span<std::byte> to) = 0;
  // Whether all of a stretch is in the page cache; nothing where the system does not say.
  virtual std::optional<bool> is_cached(uint64_t offset, uint64_t size) = 0;
};

// Null for what is no regular file that can be read.
std::unique_ptr<ReadSource> open_read_source(const std::filesystem::path& path);

// What measuring may take, of the disk and of the page cache each.
struct ReadBounds {
  uint64_t bytes = uint64_t{32} << 20;
  double ms = 100;  // no read begins later
};

// Bytes per second.
struct ReadRates {
  std::optional<double> disk;
  std::optional<double> cached;  // of what is in the page cache
  double cached_share = 0;       // of the file, by the stretches that were looked at
  std::string note{};            // how the disk was measured, or why not
};

// By stretches of 1 MiB from all over the file: past the page cache, or where that is refused, by
// those that are not in it; then by those that are. `now` is in milliseconds.
ReadRates measure_read_rates(ReadSource& source, const ReadBounds& bounds,
                             const std::function<double()>& now);

}  // namespace omnirt::io
