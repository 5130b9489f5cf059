#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/offload.hpp"

namespace omnirt {

// A parameter that a call uses, in the order of first uses.
struct ParamUse {
  size_t param = 0;
  std::string layer;      // whose it is: "down_blocks.0.resnets.0.conv1"
  std::string segment{};  // the block that was entered last (Context::segment)
  uint64_t bytes = 0;     // in memory, while its weight is there
  bool stays = false;    // in no group: a vector, which is small, or a table of which rows are read
  uint64_t made_of = 0;  // of the file, that are read to make `bytes`; 0: these are the file's
};

// Parameters whose weights come and go together.
struct WeightGroup {
  std::string name;  // of its first block or layer
  std::vector<size_t> params{};
  uint64_t bytes = 0;       // in memory at the most
  uint64_t read_bytes = 0;  // of the file, for each call
};

// How the weights of one component are in memory while a run computes with it. One group is there
// for the computation while `prefetch` groups after it come in; the last one is followed by the
// first, for the next call. Without groups all weights are there.
struct Residency {
  Offload offload = Offload::automatic;  // nothing was planned
  int64_t blocks_per_group = 0;          // of Offload::group
  int64_t prefetch = 1;                  // groups that come in ahead; 0: computing waits for each
  std::vector<WeightGroup> groups{};
  uint64_t stays_bytes = 0;  // of the parameters outside groups

  // The most that is there at a time.
  uint64_t peak_bytes() const;
  // What each call brings in.
  uint64_t moved_bytes() const;
};

// Groups of `blocks_per_group` neighbouring blocks (Offload::group), or of one layer each (leaf);
// for other values none.
Residency cut_into_groups(const std::vector<ParamUse>& uses, Offload offload,
                          int64_t blocks_per_group);

}  // namespace omnirt
