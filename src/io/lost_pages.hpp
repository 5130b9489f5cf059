#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace omnirt::io {

// Pages of mapped files can go away: another process makes the file shorter, or its disk fails.
// Touching one raises SIGBUS, which ends the process without a message. A process that has called
// this continues with zeros in their place, the loss is counted, and code that uses the bytes asks
// a LostPages whether they were whole. A SIGBUS of any other memory stays what it was. For
// programs, at their start, on any thread; a library leaves signals to the program that uses it.
void survive_lost_pages();

// The losses since it was made: made before mapped bytes are used, asked before what was made of
// them is kept.
class LostPages {
 public:
  LostPages();
  bool any() const;
  // Throws InvalidFile, naming the file, when any() is true.
  void check() const;

 private:
  uint64_t before_;
};

// For MappedFile: its bytes are under watch from the one call to the other. Not more than some
// thousand mappings at a time are; pages of the others raise SIGBUS.
void watch_mapping(std::span<const std::byte> bytes, const std::filesystem::path& path);
void forget_mapping(std::span<const std::byte> bytes) noexcept;

// The mapped file that holds this address; empty where none does.
std::filesystem::path mapped_file_at(const std::byte* address);

}  // namespace omnirt::io
