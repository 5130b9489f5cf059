#include "io/startup_pages.hpp"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace omnirt::io {
namespace {

// Only segments that no one may write to: their pages are the file's own. A library with
// relocations in its text would break that rule, so it is left alone.
bool has_text_relocations(const dl_phdr_info& library) {
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = library.dlpi_phdr[i];
    if (segment.p_type != PT_DYNAMIC) continue;
    auto* entry = reinterpret_cast<const ElfW(Dyn)*>(library.dlpi_addr + segment.p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_TEXTREL) return true;
      if (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL)) return true;
    }
  }
  return false;
}

int release_library(dl_phdr_info* library, size_t, void*) {
  if (has_text_relocations(*library)) return 0;
  auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = library->dlpi_phdr[i];
    constexpr size_t worthwhile = size_t{1} << 20;
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) || segment.p_memsz < worthwhile)
      continue;
    uintptr_t begin = (library->dlpi_addr + segment.p_vaddr + page - 1) / page * page;
    uintptr_t end = (library->dlpi_addr + segment.p_vaddr + segment.p_memsz) / page * page;
    if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void give_back_startup_pages() {
  dl_iterate_phdr(release_library, nullptr);
}

}  // namespace omnirt::io
