#pragma once
#include <string>
#include <vector>

#include "base/keys.hpp"
#include "base/site_plan.hpp"

namespace omnirt {

// Settings that several guiders have. Fractions are of the calls of the run: guidance holds from
// call int(start * n) until before call int(stop * n).
namespace guider_keys {

inline constexpr Key<double> guidance_scale{
    "guidance_scale", 7.5, {0, 100}, "", "how strongly the prompt is followed"};
inline constexpr Key<double> guidance_rescale{
    "guidance_rescale", 0.0, {0, 1}, "", "pulls the spread of the result back to that of cond"};
inline constexpr Key<double> start{
    "start", 0.0, {0, 1}, "", "fraction of the run at which guidance sets in"};
inline constexpr Key<double> stop{
    "stop", 1.0, {0, 1}, "", "fraction of the run at which guidance ends"};

}  // namespace guider_keys

// When a guider takes part in a run.
struct StepRange {
  double start = 0;
  double stop = 1;
  bool after_start = false;  // not at call int(start * steps) itself, but after it
  bool rounds_up = false;    // until before call ceil(stop * steps)
  bool holds(size_t index, size_t steps) const;
};

// What guiders of every kind have.
struct GuidanceConfig {
  double guidance_scale = 7.5;
  double guidance_rescale = 0.0;
  StepRange range{};
};

// Reads a guider's settings: each key of `keys` has its value or its fallback. A list of texts or
// numbers for a text means them joined by commas. Throws InvalidRequest with all findings, naming
// guider.<key>.
ConfigValues read_guider_settings(const Json& json, const std::vector<const KeyInfo*>& keys);

// The settings of GuidanceConfig. Throws InvalidRequest where the range is empty the wrong way.
std::vector<const KeyInfo*> guidance_keys();
GuidanceConfig guidance_config(const ConfigValues& values);
// A range under keys of other names.
StepRange step_range(const ConfigValues& values, const Key<double>& start, const Key<double>& stop);

// guidance_keys() and more.
std::vector<const KeyInfo*> with_guidance_keys(const std::vector<const KeyInfo*>& more);

// One rule a name of a list "mid, up_blocks.1".
std::vector<SiteRule> site_rules(const ConfigValues& values, const Key<std::string>& layers,
                                 SiteKind kind, const SiteChange& change);

}  // namespace omnirt
