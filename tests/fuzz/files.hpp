#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace omnirt::fuzz {

// An empty folder of this process, in memory where there is such a file system; the same one, empty
// again, at each call.
std::filesystem::path fresh_folder();
void write_text(const std::filesystem::path& file, std::string_view text);

// An input that holds several files: its kind, and each part after its length.
struct Packed {
  char kind = 0;
  std::vector<std::string> parts;
};
std::string pack(char kind, const std::vector<std::string>& parts);
// `count` parts, those that are missing empty; lengths of any bytes are cut to what is there.
Packed unpack(std::string_view input, size_t count);

// A safetensors file of one header's text and its data.
std::string safetensors_file(const std::string& header, const std::string& data);

}  // namespace omnirt::fuzz
