#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace omnirt::testing {

// The form in which git holds a file of goldens (tests/goldens/README.md describes it):
//   magic, size of the rest once inflated (u64), zlib stream of: size of the header (u32), header
//   (JSON), payload.
// The header states the file's size and SHA-256, and the parts that make it up in order:
//   ["bytes", n, width]                         n bytes of payload, their bytes grouped by place
//   ["normal", n, type, seed, draw, gain, fan, plus]
//                                               n values plus + gain / sqrt(fan) * torch.randn, and
//                                               in the payload what to add to their bits
//   ["unorm16", n, width]                       n floats of 0..1 as 16-bit integers, each as its
//                                               difference from left + above - above left
//   ["copy", path, offset, n]                   n bytes of an expanded file that comes first in the
//                                               order of paths, or of what this one has so far
inline constexpr std::string_view packed_suffix = ".packed";
inline constexpr std::string_view packed_magic = "OMNIGLD1";
inline constexpr size_t max_expanded = size_t{64} << 20;  // bytes of a file, packed or not

// The contents of an expanded file, by its path below the goldens' folder.
using ReadExpanded = std::function<std::string(const std::string& path)>;

// `path` names the packed file below the goldens' folder, without its suffix. Throws InvalidFile
// when `packed` is damaged or makes another file than its header states.
std::string unpack(std::string_view packed, const std::string& path, const ReadExpanded& expanded);

}  // namespace omnirt::testing
