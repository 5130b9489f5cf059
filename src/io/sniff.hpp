#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace omnirt::io {

// What the first bytes of a file look like, for the message that refuses it.
struct Sniffed {
  std::string what;     // "a zip archive, as torch.save writes it"; "" when nothing is recognised
  std::string way_out;  // may be empty
};

Sniffed sniff(std::span<const std::byte> start);

// Whether the name ends as files of Python objects do (.bin, .pt, .pth, .ckpt, .pkl). They can run
// any code when they are read, so they are not read here.
bool has_pickle_suffix(const std::filesystem::path& path);

// How to turn a file of Python objects into safetensors.
std::string_view pickle_way_out();

}  // namespace omnirt::io
