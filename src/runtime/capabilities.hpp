#pragma once
#include <string>
#include <vector>

#include "runtime/level.hpp"

namespace omnirt {

// What a backend does at some of its levels, in the words of a request's config. Each value of one
// list goes with each of the others.
struct ComputeMode {
  std::vector<Level> levels{all_levels.begin(), all_levels.end()};
  std::vector<std::string> dtype{"fp32"};
  std::vector<std::string> quantize{"auto", "none"};
  std::vector<std::string> pack{"auto", "never"};
  // A request's default, high, leaves the choice to the backend and goes with every mode; this says
  // which of the two it does when it is asked.
  std::vector<std::string> matmul_precision{"highest"};
};

// A list of a mode, by the config key that it is about.
struct ModeOption {
  const char* key;
  std::vector<std::string> ComputeMode::*values;
};
inline constexpr ModeOption mode_options[] = {
    {"dtype", &ComputeMode::dtype},
    {"quantize", &ComputeMode::quantize},
    {"pack", &ComputeMode::pack},
    {"matmul_precision", &ComputeMode::matmul_precision},
};

// The memory whose use by a run a backend can plan, budget, and let weights come and go in while it
// computes: the process's, where its tensors and weights are; its device's, with what the process
// takes next to it; none.
enum class PlannedSpace { none, process, device };

// What a request may ask of a backend: validation refuses, by name, what is in no mode, and what no
// one mode has together. `omnirt backends` shows it.
struct Capabilities {
  std::vector<ComputeMode> modes;
  bool compile_available = false;
  bool supports_graph_mode = false;  // compile captures whole calls and plays them back
  PlannedSpace plans_memory = PlannedSpace::none;
  // Names of the kernel overrides that prepare() registers.
  std::vector<std::string> overrides{};

  // All values that some mode has, in the order of the modes.
  std::vector<std::string> options(std::vector<std::string> ComputeMode::*values) const;
  std::vector<std::string> dtype_options() const { return options(&ComputeMode::dtype); }
};

}  // namespace omnirt
