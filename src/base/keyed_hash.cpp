#include "base/keyed_hash.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <random>

namespace omnirt {
namespace {

std::array<uint64_t, 2> draw_key() {
  std::random_device source;
  auto word = [&] { return uint64_t{source()} << 32 | source(); };
  return {word(), word()};
}

class SipState {
 public:
  SipState() {
    static const std::array<uint64_t, 2> key = draw_key();
    a_ = key[0] ^ 0x736f6d6570736575;
    b_ = key[1] ^ 0x646f72616e646f6d;
    c_ = key[0] ^ 0x6c7967656e657261;
    d_ = key[1] ^ 0x7465646279746573;
  }
  void add(uint64_t word) {
    d_ ^= word;
    mix();
    a_ ^= word;
  }
  uint64_t finish() {
    c_ ^= 0xff;
    for (int round = 0; round < 3; ++round) mix();
    return a_ ^ b_ ^ c_ ^ d_;
  }

 private:
  void mix() {
    a_ += b_;
    b_ = std::rotl(b_, 13) ^ a_;
    a_ = std::rotl(a_, 32);
    c_ += d_;
    d_ = std::rotl(d_, 16) ^ c_;
    a_ += d_;
    d_ = std::rotl(d_, 21) ^ a_;
    c_ += b_;
    b_ = std::rotl(b_, 17) ^ c_;
    c_ = std::rotl(c_, 32);
  }
  uint64_t a_, b_, c_, d_;
};

}  // namespace

uint64_t keyed_hash(std::string_view bytes) {
  SipState state;
  uint64_t last = uint64_t{bytes.size()} << 56;
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    state.add(word);
  }
  uint64_t rest = 0;
  if (!bytes.empty()) std::memcpy(&rest, bytes.data(), bytes.size());
  state.add(last | rest);
  return state.finish();
}

uint64_t keyed_hash(uint64_t number) {
  SipState state;
  state.add(number);
  return state.finish();
}

}  // namespace omnirt
