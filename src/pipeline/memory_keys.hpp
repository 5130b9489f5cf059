#pragma once
#include "base/keys.hpp"
#include "base/offload.hpp"

// Keys of what a run may take of the machine's memory.
namespace omnirt::keys {

inline constexpr Key<std::string> memory_budget{
    "memory_budget",
    std::monostate{},
    {},
    "memory-budget",
    "memory that the process may take, as the kernel counts it (VmRSS): 6GB, 1.5GiB, 800MB; a run "
    "that cannot keep it is refused before it begins"};
inline constexpr Key<Json> device_map{
    "device_map",
    std::monostate{},
    {},
    "device-map",
    "device of single components, the others run on the backend's: "
    "transformer=cuda:0,vae=cuda:1,text_encoder=cpu, or an object",
    "",
    "text|object"};
inline constexpr Key<std::string> device_memory_budget{
    "device_memory_budget",
    std::monostate{},
    {},
    "device-memory-budget",
    "memory that the run may take of each device, as the backend's allocator counts it: 6GB, "
    "1.5GiB, 800MB; a run that cannot keep it is refused before it begins"};
inline constexpr Key<Offload> offload{
    "offload", Offload::automatic, "offload",
    "what leaves memory together while it is not needed: what the budget asks for (auto), nothing "
    "(none), a network after its last use (component), blocks of a network while it computes "
    "(group), or its layers (leaf)"};
inline constexpr Key<int64_t> blocks_per_group{
    "blocks_per_group",
    std::monostate{},
    {1, 1000},
    "blocks-per-group",
    "with offload group: neighbouring blocks that come and go together; default: as many as fit"};
inline constexpr Key<int64_t> prefetch_groups{
    "prefetch_groups",
    std::monostate{},
    {0, 16},
    "prefetch-groups",
    "with offload group or leaf: groups that come in ahead while one is computed with; default: 1, "
    "or 0 where the budget asks for it"};
inline constexpr Key<Json> storage_dtype{
    "storage_dtype",
    std::monostate{},
    {},
    "storage-dtype",
    "narrower type that the weights of layers are kept in while they are computed with: "
    "float8_e4m3fn, float8_e5m2, bf16 or fp16, of the denoiser; or an object with a type for each "
    "component (diffusers' layerwise casting)",
    "",
    "text|object"};
inline constexpr Key<bool> vae_tiling{
    "vae_tiling",
    std::monostate{},
    {},
    "vae-tiling",
    "encode and decode by tiles that fade into each other, which takes less memory and changes the "
    "image a little; default: where a memory budget could not be kept without"};
inline constexpr Key<int64_t> vae_tile_size{
    "vae_tile_size",
    std::monostate{},
    {32, 8192},
    "vae-tile-size",
    "side in pixels of the autoencoder's tiles; default: the model's own"};

}  // namespace omnirt::keys
