#pragma once
#include <array>
#include <vector>

#include "base/keys.hpp"

namespace omnirt {

// What files embed of the request that made them.
enum class CarriedRequest { full, short_form, none };
template <>
struct ChoiceNames<CarriedRequest> {
  static constexpr std::array names{"full", "short", "none"};
};

}  // namespace omnirt

// Keys of how a run is run: cut in two, previewed.
namespace omnirt::keys {

inline constexpr Key<std::string> stop_after{
    "stop_after",
    std::monostate{},
    {},
    "stop-after",
    "a block or stage after which the run stops and leaves its state"};
inline constexpr Key<std::string> state{
    "state", std::monostate{}, {}, "state", "with stop_after: the safetensors file to write"};
inline constexpr Key<std::string> resume{
    "resume", std::monostate{}, {}, "resume", "a state to continue from"};
inline constexpr Key<int64_t> preview_every{
    "preview_every",
    int64_t{0},
    {0, 1000},
    "preview-every",
    "write an image of the latents after every N-th step; 0: none"};
inline constexpr Key<std::string> preview_dir{
    "preview_dir", "previews", {}, "preview-dir", "folder for these images; made when missing"};
inline constexpr Key<std::string> preview_name{
    "preview_name",
    "{run}-{index}-{step}.png",
    {},
    "preview-name",
    "their names: {run}, {index} (from 0), {step} (from 1), {seed}; a name without {step} is "
    "written over"};
inline constexpr Key<std::string> preview_decoder{
    "preview_decoder",
    "linear",
    {},
    "preview-decoder",
    "how latents become these images: linear (the model's own colours, no network), tiny (the "
    "model's tiny autoencoder, where it is on this machine), or the folder of one"};

inline constexpr Key<CarriedRequest> metadata{"metadata", CarriedRequest::full, "metadata",
                                              "what images and videos carry of their request: all "
                                              "of it with absolute paths (full), with base "
                                              "names in place of paths (short), or nothing (none)"};

inline constexpr Key<bool> allow_nan{
    "allow_nan",
    false,
    {},
    "allow-nan",
    "continue with a warning if weights, latents or images hold infinities or NaNs, instead of an "
    "error that names the cause"};

std::vector<const KeyInfo*> of_runs();
// Those whose values are paths: relative ones begin where the request's file is.
std::vector<const KeyInfo*> paths();
// Those that say how and where a run is run and where its files go, and not what it makes: they are
// not in its record, or may differ between the parts of a split run.
std::vector<const KeyInfo*> about_files();
std::vector<const KeyInfo*> about_the_run();

}  // namespace omnirt::keys
