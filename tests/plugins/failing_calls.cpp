// Preloaded into the program (LD_PRELOAD): its calls of the system fail when a test says so. What
// stands between is the C library's own names; the work is done by the system calls themselves.
#include "plugins/failing_calls.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <optional>

extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* before, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
}

namespace {
using omnirt::testing::Call;
using omnirt::testing::FailingCalls;
using omnirt::testing::Fault;

constexpr size_t large_bytes = size_t{1} << 20;

std::atomic<FailingCalls*> shared{nullptr};

[[gnu::constructor]] void find_shared() {
  const char* name = std::getenv("OMNIRT_FAILING_CALLS");
  if (!name) return;
  const int fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CLOEXEC, 0));
  if (fd < 0) return;
  const long mapped =
      syscall(SYS_mmap, nullptr, sizeof(FailingCalls), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped != -1) shared = reinterpret_cast<FailingCalls*>(mapped);
}

void end_process() {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

// What this call is to do wrong, if it is the one.
std::optional<Fault> fault_of(Call call) {
  FailingCalls* calls = shared;
  if (!calls) return std::nullopt;
  const Call sought = calls->call;
  const bool of_files = call != Call::map && call != Call::allocate;
  if (sought != call && !(sought == Call::any_of_files && of_files)) return std::nullopt;
  if (++calls->seen != calls->at) return std::nullopt;
  const Fault fault = calls->fault;
  if (fault == Fault::kill_before) end_process();
  if (fault == Fault::error) errno = calls->error;
  return fault;
}

bool is_regular(int fd) {
  struct stat info {};
  return fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

// `work` with a number of bytes.
template <typename Work>
ssize_t write_with(int fd, size_t bytes, const Work& work) {
  if (!is_regular(fd)) return work(bytes);
  const auto fault = fault_of(Call::write);
  if (fault == Fault::error) return -1;
  const ssize_t written = work(fault == Fault::part ? (bytes + 1) / 2 : bytes);
  if (fault == Fault::kill_after) end_process();
  return written;
}

template <typename Work>
int do_with(Call call, const Work& work) {
  const auto fault = fault_of(call);
  if (fault == Fault::error) return -1;
  const int result = static_cast<int>(work());
  if (fault == Fault::kill_after) end_process();
  return result;
}

template <typename Work>
void* allocate_with(size_t bytes, const Work& work) {
  if (bytes > large_bytes && fault_of(Call::allocate)) {
    errno = ENOMEM;
    return nullptr;
  }
  return work();
}

int open_with(int folder, const char* name, int flags, va_list more) {
  const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
  return do_with(Call::open, [&] { return syscall(SYS_openat, folder, name, flags, mode); });
}

void* map_with(void* where, size_t bytes, int protection, int flags, int fd, off_t offset) {
  if (fault_of(Call::map)) return MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, where, bytes, protection, flags, fd, offset));
}

}  // namespace

extern "C" {

ssize_t write(int fd, const void* from, size_t bytes) {
  return write_with(fd, bytes, [&](size_t some) { return syscall(SYS_write, fd, from, some); });
}
ssize_t pwrite64(int fd, const void* from, size_t bytes, off64_t at) {
  return write_with(fd, bytes,
                    [&](size_t some) { return syscall(SYS_pwrite64, fd, from, some, at); });
}
ssize_t pwrite(int fd, const void* from, size_t bytes, off_t at) {
  return pwrite64(fd, from, bytes, at);
}
ssize_t writev(int fd, const iovec* parts, int count) {
  return write_with(fd, 0, [&](size_t) { return syscall(SYS_writev, fd, parts, count); });
}

int fsync(int fd) {
  return do_with(Call::sync, [&] { return syscall(SYS_fsync, fd); });
}
int fdatasync(int fd) {
  return do_with(Call::sync, [&] { return syscall(SYS_fdatasync, fd); });
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned flags) noexcept {
  return do_with(Call::rename,
                 [&] { return syscall(SYS_renameat2, from_folder, from, to_folder, to, flags); });
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  return renameat2(from_folder, from, to_folder, to, 0);
}
int rename(const char* from, const char* to) noexcept {
  return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int open(const char* name, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int fd = open_with(AT_FDCWD, name, flags, more);
  va_end(more);
  return fd;
}
int open64(const char* name, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int fd = open_with(AT_FDCWD, name, flags, more);
  va_end(more);
  return fd;
}
int openat(int folder, const char* name, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int fd = open_with(folder, name, flags, more);
  va_end(more);
  return fd;
}
int openat64(int folder, const char* name, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int fd = open_with(folder, name, flags, more);
  va_end(more);
  return fd;
}

// What hardened code calls instead, with flags that the compiler does not know.
int __open_2(const char* name, int flags) {
  return open(name, flags);
}
int __open64_2(const char* name, int flags) {
  return open(name, flags);
}
int __openat_2(int folder, const char* name, int flags) {
  return openat(folder, name, flags);
}
int __openat64_2(int folder, const char* name, int flags) {
  return openat(folder, name, flags);
}

void* mmap(void* where, size_t bytes, int protection, int flags, int fd, off_t offset) noexcept {
  return map_with(where, bytes, protection, flags, fd, offset);
}
void* mmap64(void* where, size_t bytes, int protection, int flags, int fd,
             off64_t offset) noexcept {
  return map_with(where, bytes, protection, flags, fd, offset);
}

void* malloc(size_t bytes) noexcept {
  return allocate_with(bytes, [&] { return __libc_malloc(bytes); });
}
void* calloc(size_t count, size_t bytes) noexcept {
  size_t all = 0;
  if (__builtin_mul_overflow(count, bytes, &all)) all = 0;
  return allocate_with(all, [&] { return __libc_calloc(count, bytes); });
}
void* realloc(void* before, size_t bytes) noexcept {
  return allocate_with(bytes, [&] { return __libc_realloc(before, bytes); });
}
void* memalign(size_t alignment, size_t bytes) noexcept {
  return allocate_with(bytes, [&] { return __libc_memalign(alignment, bytes); });
}
void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  return memalign(alignment, bytes);
}
int posix_memalign(void** into, size_t alignment, size_t bytes) noexcept {
  void* made = memalign(alignment, bytes);
  if (!made) return ENOMEM;
  *into = made;
  return 0;
}
}
