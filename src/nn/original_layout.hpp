#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/param.hpp"

namespace omnirt::nn {

// How a parameter is stored in the original's tensor. None of these changes a number.
enum class Form {
  same,
  transposed,  // {in, out} for a matrix {out, in}
  conv1x1,     // {out, in, 1, 1} for a matrix {out, in}
  flat,        // {n * m} for a matrix {n, m}
  rows,        // one or more of equal parts that are stacked along the first dimension
  swapped,     // the halves along the first dimension the other way round
  head_pairs,  // the rows of each of `parts` heads: i and i + d / 2, which turn together, side by
               // side
};

// One rule of a layout: where a parameter's name begins with `network` (whole parts of the name; ""
// always), the original's begins with `original`. "*" is any one part of a name, which both have.
// `within` says on what follows; what no rule there names stays as it is.
struct LayoutRule {
  std::string network;
  std::string original;
  Form form = Form::same;
  size_t part = 0, parts = 1;  // of Form::rows; of Form::head_pairs, `parts` heads
  std::vector<LayoutRule> within{};
  size_t span = 1;      // of Form::rows: from `part` on, how many of the `parts` the parameter is
  bool filter = false;  // of Form::rows: matrices stacked as one filter {out, in, 1, 1}
};

// How the authors of a network arranged its parameters in their own files: names below the prefix
// that a checkpoint has for the component. Rules apply by the first that fits; a parameter that
// none names has no place in this layout.
struct OriginalLayout {
  std::string name;  // "ldm"
  std::vector<LayoutRule> rules;
  // Names (beginnings, whole parts) of what such files hold in addition to the parameters and
  // inference does not need.
  std::vector<std::string> leftovers{};
};

// Where a parameter is found in an original's files.
struct OriginalPlace {
  std::string name;
  std::vector<int64_t> shape;  // of the original's whole tensor
  Form form = Form::same;
  size_t part = 0, parts = 1, span = 1;

  bool operator==(const OriginalPlace&) const = default;
};

// nullopt where the layout has no place for the parameter.
std::optional<OriginalPlace> original_place(const OriginalLayout& layout, const Param& param);
// The same for a name alone, of a parameter or of a module ("down_blocks.0.resnets.1.conv1"). Where
// several parts share a tensor, `part` distinguishes them in the place, not in the name.
std::optional<std::string> original_name(const OriginalLayout& layout, const std::string& name);

// What adapter files are called whose layers have the names of a network's original layout.
struct NamedAdapters {
  std::string original;  // the original layout: "flux"
  std::string notation;  // of the keys: "diffusers" or "peft"
  std::string name;      // "bfl"
};

const std::vector<NamedAdapters>& named_adapters();

}  // namespace omnirt::nn
