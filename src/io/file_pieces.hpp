#pragma once
#include <cstddef>
#include <filesystem>
#include <vector>

#include "io/file.hpp"

namespace omnirt::io {

// Small pieces from all over a large file, read without mapping it: only the pages that hold them
// are fetched, none of which counts as the process's memory.
class FilePieces {
 public:
  // Throws as open_regular.
  explicit FilePieces(const std::filesystem::path& path);
  size_t bytes() const { return file_.bytes; }
  // Begins to fetch a piece that is read later, so that a disk serves many of them at once.
  void expect(size_t offset, size_t size) const;
  // Throws InvalidFile where the file ends before the piece does, or cannot be read.
  std::vector<std::byte> read(size_t offset, size_t size) const;

 private:
  std::filesystem::path path_;
  OpenFile file_;
};

}  // namespace omnirt::io
