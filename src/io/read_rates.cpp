#include "io/read_rates.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/error.hpp"
#include "io/file.hpp"

namespace omnirt::io {
namespace {

constexpr uint64_t block = 4096, stretch = uint64_t{1} << 20;

uint64_t whole_blocks(uint64_t bytes) {
  return (bytes + block - 1) / block * block;
}

class FileSource final : public ReadSource {
 public:
  explicit FileSource(const std::filesystem::path& path)
      : file_(open_regular(path)), direct_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT)) {
    if (file_.bytes == 0) return;
    void* at = ::mmap(nullptr, file_.bytes, PROT_READ, MAP_SHARED, file_.fd.get(), 0);
    if (at != MAP_FAILED) mapped_ = at;
  }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  ~FileSource() override {
    if (mapped_) ::munmap(mapped_, file_.bytes);
  }

  uint64_t bytes() const override { return file_.bytes; }
  bool read_direct(uint64_t offset, std::span<std::byte> to) override {
    return direct_.get() >= 0 && read_by(direct_.get(), offset, to);
  }
  bool read(uint64_t offset, std::span<std::byte> to) override {
    return read_by(file_.fd.get(), offset, to);
  }
  std::optional<bool> is_cached(uint64_t offset, uint64_t size) override {
    if (!mapped_ || offset >= file_.bytes) return std::nullopt;
    size = std::min(size, file_.bytes - offset);
    const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    const uint64_t from = offset / page * page, pages = (offset + size - from + page - 1) / page;
    std::vector<unsigned char> there(pages);
    if (::mincore(static_cast<std::byte*>(mapped_) + from, offset + size - from, there.data()) != 0)
      return std::nullopt;
    return std::ranges::all_of(there, [](unsigned char each) { return (each & 1U) != 0; });
  }

 private:
  static bool read_by(int fd, uint64_t offset, std::span<std::byte> to) {
    return ::pread(fd, to.data(), to.size(), static_cast<off_t>(offset)) > 0;
  }

  OpenFile file_;
  Descriptor direct_;
  void* mapped_ = nullptr;
};

// Reads stretches of one kind, until a bound is met.
class Measured {
 public:
  Measured(const ReadBounds& bounds, const std::function<double()>& now)
      : bounds_(bounds), now_(now), started_(now()), last_(started_) {}

  bool wants_more() const { return bytes_ < bounds_.bytes && last_ - started_ < bounds_.ms; }
  bool take(uint64_t size, const std::function<bool()>& read) {
    const double before = now_();
    const bool done = read();
    last_ = now_();
    if (!done) return false;
    bytes_ += size;
    reading_ms_ += last_ - before;
    return true;
  }
  std::optional<double> rate() const {
    if (bytes_ == 0) return std::nullopt;
    // Shorter than the clock's ticks is as good as any larger rate.
    return static_cast<double>(bytes_) / std::max(reading_ms_, 1e-3) * 1e3;
  }

 private:
  const ReadBounds& bounds_;
  const std::function<double()>& now_;
  double started_, last_;
  uint64_t bytes_ = 0;
  double reading_ms_ = 0;
};

// Offsets of stretches from all over the file, no more than a bound asks for.
std::vector<uint64_t> places(uint64_t bytes, uint64_t most) {
  const uint64_t whole = std::max<uint64_t>(1, bytes / stretch);
  const uint64_t count = std::clamp<uint64_t>(most / stretch, 1, whole);
  std::vector<uint64_t> made;
  for (uint64_t i = 0; i < count; ++i) made.push_back(whole * i / count * stretch);
  return made;
}

}  // namespace

std::unique_ptr<ReadSource> open_read_source(const std::filesystem::path& path) {
  try {
    return std::make_unique<FileSource>(path);
  } catch (const Error&) {
    return nullptr;
  }
}

ReadRates measure_read_rates(ReadSource& source, const ReadBounds& bounds,
                             const std::function<double()>& now) {
  ReadRates rates;
  if (source.bytes() == 0) return rates;
  const uint64_t size = std::min(stretch, whole_blocks(source.bytes()));
  const std::unique_ptr<std::byte, decltype(&std::free)> memory(
      static_cast<std::byte*>(std::aligned_alloc(block, size)), std::free);
  const std::span<std::byte> to(memory.get(), size);
  std::vector<uint64_t> cached, others;
  for (uint64_t place : places(source.bytes(), bounds.bytes))
    (source.is_cached(place, size).value_or(false) ? cached : others).push_back(place);
  const size_t all = cached.size() + others.size();
  rates.cached_share = static_cast<double>(cached.size()) / static_cast<double>(all);

  Measured in_cache(bounds, now);
  for (uint64_t place : cached) {
    if (!in_cache.wants_more()) break;
    in_cache.take(size, [&] { return source.read(place, to); });
  }
  rates.cached = in_cache.rate();

  Measured direct(bounds, now);
  for (uint64_t place : places(source.bytes(), bounds.bytes)) {
    if (!direct.wants_more() || !direct.take(size, [&] { return source.read_direct(place, to); }))
      break;
  }
  rates.disk = direct.rate();
  rates.note = "read past the page cache";
  if (rates.disk) return rates;
  Measured fetched(bounds, now);
  for (uint64_t place : others) {
    if (!fetched.wants_more()) break;
    fetched.take(size, [&] { return source.read(place, to); });
  }
  rates.disk = fetched.rate();
  rates.note = rates.disk ? "read through the page cache, where the file was not in it"
                          : "not measured: the file system refuses to read past the page cache, "
                            "and the file is in it";
  return rates;
}

}  // namespace omnirt::io
