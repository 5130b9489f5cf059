#include "io/lost_pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <deque>
#include <mutex>

#include "base/error.hpp"
#include "base/path_text.hpp"

namespace omnirt::io {
namespace {

// What the signal handler reads and writes: nothing but lock-free numbers.
struct WatchedRange {
  std::atomic<uintptr_t> begin{0}, end{0};  // 0: free
  std::atomic<uint64_t> lost{0};            // which loss, counted from 1, was its last
};
constexpr size_t most_ranges = 4096;
std::array<WatchedRange, most_ranges> ranges;
std::atomic<uint64_t> losses{0};
static_assert(std::atomic<uintptr_t>::is_always_lock_free);

struct Loss {
  uint64_t number;
  std::filesystem::path path;
};

// What only ordinary code touches.
struct Book {
  std::mutex mutex;
  std::array<std::filesystem::path, most_ranges> paths;
  std::deque<Loss> gone;  // of mappings that are no more, the latest of them
};
Book& book() {
  static auto* made = new Book;
  return *made;
}

uintptr_t page_size = 4096;
struct sigaction handler_before {};

WatchedRange* range_of(uintptr_t address) {
  for (WatchedRange& range : ranges) {
    const uintptr_t begin = range.begin.load(std::memory_order_acquire);
    if (begin != 0 && begin <= address && address < range.end.load(std::memory_order_acquire))
      return &range;
  }
  return nullptr;
}

// Zeros from the page of `address` to the mapping's end: a file that ends before this page holds
// none of the later ones either.
bool put_zeros(const WatchedRange& range, uintptr_t address) {
  const uintptr_t page = address / page_size * page_size;
  const uintptr_t end = (range.end.load() + page_size - 1) / page_size * page_size;
  return ::mmap(reinterpret_cast<void*>(page), end - page, PROT_READ,
                MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}

void on_bus_error(int signal, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  WatchedRange* range = range_of(address);
  if (range && put_zeros(*range, address)) {
    range->lost.store(losses.fetch_add(1) + 1);
    return;
  }
  // Not ours: the access is made again, and meets what was there before us.
  ::sigaction(signal, &handler_before, nullptr);
}

std::filesystem::path lost_since(uint64_t before) {
  std::scoped_lock lock(book().mutex);
  for (size_t i = 0; i < most_ranges; ++i) {
    if (ranges[i].lost.load() > before) return book().paths[i];
  }
  for (const Loss& loss : book().gone) {
    if (loss.number > before) return loss.path;
  }
  return {};
}

}  // namespace

void survive_lost_pages() {
  static std::once_flag once;
  std::call_once(once, [] {
    page_size = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    struct sigaction action {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, &action, &handler_before);
  });
}

LostPages::LostPages() : before_(losses.load()) {}

bool LostPages::any() const {
  return losses.load() > before_;
}

void LostPages::check() const {
  if (!any()) return;
  throw InvalidFile({path_text(lost_since(before_)), "",
                     "the file became shorter, or could not be read, while it was in use",
                     "let nothing write to it during a run; a file that is replaced by renaming "
                     "another over it is safe"});
}

void watch_mapping(std::span<const std::byte> bytes, const std::filesystem::path& path) {
  std::scoped_lock lock(book().mutex);
  for (size_t i = 0; i < most_ranges; ++i) {
    if (ranges[i].begin.load() != 0) continue;
    const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
    book().paths[i] = path;
    ranges[i].lost = 0;
    ranges[i].end = begin + bytes.size();
    ranges[i].begin.store(begin, std::memory_order_release);
    return;
  }
}

void forget_mapping(std::span<const std::byte> bytes) noexcept {
  constexpr size_t most_remembered = 64;
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  std::scoped_lock lock(book().mutex);
  for (size_t i = 0; i < most_ranges; ++i) {
    if (ranges[i].begin.load() != begin) continue;
    ranges[i].begin.store(0, std::memory_order_release);
    if (uint64_t lost = ranges[i].lost.exchange(0); lost > 0) {
      book().gone.push_back({lost, book().paths[i]});
      if (book().gone.size() > most_remembered) book().gone.pop_front();
    }
    return;
  }
}

std::filesystem::path mapped_file_at(const std::byte* address) {
  std::scoped_lock lock(book().mutex);
  const WatchedRange* range = range_of(reinterpret_cast<uintptr_t>(address));
  return range ? book().paths[static_cast<size_t>(range - ranges.data())] : std::filesystem::path();
}

}  // namespace omnirt::io
