#pragma once
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

// Files of weights that a name without its suffix means; suffixes are in any case of letters, as
// people's files have them ("style.SafeTensors").
namespace omnirt {

inline constexpr std::string_view safetensors_suffix = ".safetensors", gguf_suffix = ".gguf";
using Suffixes = std::initializer_list<std::string_view>;

bool has_suffix(const std::filesystem::path& file, Suffixes suffixes);

// `name` in `folder` ("style", "sub/style" or "style.safetensors"), a file with one of the
// suffixes; empty if there is none.
std::filesystem::path file_named(const std::filesystem::path& folder, const std::string& name,
                                 Suffixes suffixes);

// The files of this name in the folders below `folder`, at most eight folders deep, sorted.
std::vector<std::filesystem::path> files_named_below(const std::filesystem::path& folder,
                                                     const std::string& name, Suffixes suffixes);

}  // namespace omnirt
