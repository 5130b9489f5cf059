#pragma once
#include <cstddef>
#include <list>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/component_call.hpp"

namespace omnirt {

// Results of calls whose inputs are ids alone, as prompts are: an engine's later runs need not make
// them again, nor have the network's weights in memory for it. Bounded: what was used longest ago
// goes. Shared by threads.
class CallMemo {
 public:
  static constexpr size_t most_calls = 64, most_bytes = size_t{64} << 20, most_ids = 1 << 16;

  // Whether calls with these inputs are kept: whole numbers on the CPU, not many.
  static bool takes(const Values& inputs);
  // Tensors of the caller's own; nothing where no such call was kept. `how`: the level and the
  // adapters that it was made with.
  std::optional<Values> find(const std::string& how, const ComponentCall& call,
                             const Values& inputs);
  void keep(const std::string& how, const ComponentCall& call, const Values& inputs,
            const Values& results);

 private:
  struct Entry {
    std::string how;
    CallKey key;
    Values inputs, results;
    size_t bytes = 0;
  };
  std::list<Entry>::iterator known(const std::string& how, const CallKey& key,
                                   const Values& inputs);

  std::mutex mutex_;
  std::list<Entry> entries_;  // the one that was used last in front
  size_t bytes_ = 0;
};

}  // namespace omnirt
