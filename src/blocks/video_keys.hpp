#pragma once
#include "base/keys.hpp"

// The config keys of tasks that make videos.
namespace omnirt::keys {

inline constexpr Key<int64_t> num_frames{
    "num_frames", std::monostate{}, {1, 256}, "num-frames", "frames of a video, or of a chunk"};
inline constexpr Key<int64_t> num_videos_per_prompt{"num_videos_per_prompt",
                                                    int64_t{1},
                                                    {1, 16},
                                                    "num-videos",
                                                    "videos per image; video i uses seed + i"};
inline constexpr Key<int64_t> decode_chunk_size{
    "decode_chunk_size",
    std::monostate{},
    {1, 256},
    "decode-chunk-size",
    "frames that are decoded at once: fewer take less memory and flicker more; unset: all"};
inline constexpr Key<int64_t> num_chunks{
    "num_chunks",
    int64_t{1},
    {1, 64},
    "num-chunks",
    "chunks of num_frames after each other, each continued from the last frame of the one before"};

}  // namespace omnirt::keys
