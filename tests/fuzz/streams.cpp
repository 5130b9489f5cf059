// What a client says over a WebSocket.
#include <array>

#include "base/error.hpp"
#include "fuzz/mutate_json.hpp"
#include "fuzz/target.hpp"
#include "serve/stream_message.hpp"

namespace omnirt::fuzz {
namespace {

constexpr std::array seeds{
    R"({"type": "generate", "ref": "mine", "request": {"inputs": {"prompt": "x"}, "config": {"seed": 7}}})",
    R"({"type": "follow", "job": "0123456789abcdef", "after": 1000003, "ref": null})",
    R"({"type": "cancel", "job": "0123456789abcdef"})", R"({"type": "nothing", "job": 3})"};

}  // namespace

std::string make_input(Random& random) {
  const std::string seed = seeds[below(seeds.size(), random)];
  if (random() % 8 == 0) return seed;
  return random() % 2 ? mutate_text(seed, random) : mutate_json(Json::parse(seed), random).dump();
}

void read_input(std::string_view input) {
  const serve::StreamMessage message = serve::read_stream_message(input);
  require(message.ref.size() <= serve::max_stream_ref_bytes, "a ref is short");
  const bool generates = message.type == serve::StreamCall::generate;
  require(generates == message.request.is_object(), "what is generated is asked for");
  require(generates == message.job.empty(), "what is followed or cancelled is a job");
  require(message.after >= -1, "an event has a number");
}

}  // namespace omnirt::fuzz
