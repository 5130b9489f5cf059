#pragma once
#include <filesystem>
#include <optional>

#include "pipeline/model_spec.hpp"

namespace omnirt {

// What a safetensors file is, where it is no weights of a model: an adapter {kind, adapter:
// {layout, kinds, made_for, ranks, layers, tokens}}; nothing for another. Reads headers only.
std::optional<Json> recognise_adapter(const Catalogue& catalogue,
                                      const std::filesystem::path& path);

// A file of this program's own: an image or video with the request that it embeds, the state of a
// run, latents; nothing for another.
std::optional<Json> inspect_own_file(const std::filesystem::path& path);

}  // namespace omnirt
