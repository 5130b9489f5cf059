#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace omnirt {

class WeightStream;  // runtime/weight_stream.hpp

// What all entries into one block of a network took.
struct BlockTime {
  std::string block;  // its path; "": what is outside of blocks
  uint64_t calls = 0;
  double ms = 0;             // without blocks inside it
  double waited_ms = 0;      // of that: for weights that come and go
  uint64_t moved_bytes = 0;  // of weights, that were brought in
};

// The times of a network's blocks, over its calls (Context::segment). Belongs to one run and one
// thread.
class BlockTimes {
 public:
  using Clock = double (*)();  // milliseconds
  BlockTimes();
  explicit BlockTimes(Clock clock) : clock_(clock) {}

  // While it lives, time is this block's; then it is again that of the block around it.
  class Turn {
   public:
    // Nothing where `times` is null; `stream` may be null.
    Turn(BlockTimes* times, const std::string& block, const WeightStream* stream);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    BlockTimes* times_;
    const WeightStream* stream_;
  };

  // In the order of first entries.
  const std::vector<BlockTime>& all() const { return all_; }

 private:
  // Charges what passed since the last mark to the block that is current.
  void mark(const WeightStream* stream);

  Clock clock_;
  std::vector<BlockTime> all_;
  std::map<std::string, size_t> places_;
  std::vector<size_t> inside_;  // blocks that were entered and not left
  double last_ms_ = 0, last_waited_ms_ = 0;
  uint64_t last_bytes_ = 0;
};

}  // namespace omnirt
