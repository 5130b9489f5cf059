#include "io/sniff.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "io/utf8.hpp"

namespace omnirt::io {
namespace {

using namespace std::string_view_literals;

struct FileStart {
  std::string_view start;  // in lower case
  std::string_view what, way_out;
};

constexpr std::string_view pickle_conversion =
    "convert it in Python: d = torch.load(PATH, weights_only=True); d = next((d[k] for k in "
    "('params_ema', 'params', 'state_dict') if k in d), d); "
    "safetensors.torch.save_file({k: v.clone().contiguous() for k, v in d.items() if "
    "torch.is_tensor(v)}, NEW_PATH)";
constexpr std::string_view download_again = "download the file again";

constexpr auto file_starts = std::to_array<FileStart>({
    {"pk\3\4"sv, "a zip archive, as torch.save writes (.bin, .pt, .ckpt)", pickle_conversion},
    {"\x80\2"sv, "a Python pickle (.bin, .pt, .ckpt)", pickle_conversion},
    {"\x80\3"sv, "a Python pickle (.bin, .pt, .ckpt)", pickle_conversion},
    {"\x80\4"sv, "a Python pickle (.bin, .pt, .ckpt)", pickle_conversion},
    {"\x80\5"sv, "a Python pickle (.bin, .pt, .ckpt)", pickle_conversion},
    {"version https://git-lfs"sv, "a git-lfs pointer, not the file that it points to",
     "fetch the content with `git lfs pull`"},
    {"<!doctype"sv, "an HTML page: the download did not bring the file", download_again},
    {"<html"sv, "an HTML page: the download did not bring the file", download_again},
    {"<?xml"sv, "an XML page: the download did not bring the file", download_again},
    {"gguf"sv, "a GGUF file", "give a .safetensors here: GGUF is read for weights of models"},
    {"\x89hdf"sv, "an HDF5 file (Keras)", ""},
    {"\x89png"sv, "a PNG image", ""},
    {"\xff\xd8\xff"sv, "a JPEG image", ""},
    {"\x1f\x8b"sv, "a gzip archive", "unpack it first"},
    {"{"sv, "JSON text", ""},
});

bool is_text(std::string_view start) {
  auto text = [](unsigned char c) {
    return c >= 0x20 ? c != 0x7F : c == '\n' || c == '\r' || c == '\t';
  };
  // The cut after a fixed number of bytes may fall inside a character.
  size_t invalid = find_invalid_utf8(start);
  return std::ranges::all_of(start, text) && (invalid == start.npos || invalid + 4 > start.size());
}

}  // namespace

Sniffed sniff(std::span<const std::byte> bytes) {
  std::string_view start(reinterpret_cast<const char*>(bytes.data()),
                         std::min<size_t>(bytes.size(), 64));
  if (start.empty()) return {};
  std::string lowered(start.substr(std::min(start.find_first_not_of(" \t\r\n"), start.size())));
  std::ranges::transform(lowered, lowered.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const FileStart& known : file_starts) {
    if (lowered.starts_with(known.start)) {
      return {std::string(known.what), std::string(known.way_out)};
    }
  }
  if (std::ranges::all_of(start, [](char c) { return c == '\0'; })) {
    return {"zeros: the download was interrupted", std::string(download_again)};
  }
  if (is_text(start)) return {"text that starts with " + shown_name(start.substr(0, 32)), ""};
  return {};
}

bool has_pickle_suffix(const std::filesystem::path& path) {
  constexpr std::array suffixes{".bin"sv, ".pt"sv, ".pth"sv, ".ckpt"sv, ".pkl"sv};
  return std::ranges::find(suffixes, path.extension().string()) != suffixes.end();
}

std::string_view pickle_way_out() {
  return pickle_conversion;
}

}  // namespace omnirt::io
