#pragma once
#include <functional>
#include <string>
#include <vector>

#include "runtime/context.hpp"

namespace omnirt::nn {

// Of tokens that others attend to, {B, T, heads * d} each.
struct KeysAndValues {
  Tensor key, value;
};

// Those of further tokens and `own` behind them; of one row where all rows attend to the same.
KeysAndValues preceded_by(Context& cx, const KeysAndValues& own, const KeysAndValues& before);

// Tokens that see nothing of what a loop's steps change (a text, reference images): they go through
// a network's blocks ahead of the others, and all that the others need of them, each block's keys
// and values, is made once per run.
class KeptTokens {
 public:
  // A block as these tokens go through it.
  struct Block {
    std::string path;
    std::vector<std::string> parts{};  // of it, that a guider may skip
    // What becomes of tokens {B, T, D}, whose keys and values `made` is set to; undefined where
    // `keys_alone`.
    std::function<Tensor(const Tensor& tokens, KeysAndValues& made, bool keys_alone)> read;
  };
  struct Call {
    Tensor given;      // lives as long as the run
    Tensor tokens;     // the same as the first block takes them
    bool once = true;  // or else for each call
  };

  KeptTokens(Context& cx, std::vector<Block> blocks, Call call);
  // The keys and values of block i, which is not skipped.
  KeysAndValues of(size_t i);

 private:
  KeysAndValues read(size_t i);

  Context& cx_;
  std::vector<Block> blocks_;
  Call call_;
  std::string skipped_;  // what is: what is kept depends on that
  Tensor state_;         // what block reached_ reads
  size_t reached_ = 0;
};

}  // namespace omnirt::nn
