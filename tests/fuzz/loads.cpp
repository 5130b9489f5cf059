// What a load on a server is read from: traces, mixes and addresses.
#include "base/error.hpp"
#include "fuzz/target.hpp"
#include "serve/load.hpp"

namespace omnirt::fuzz {
namespace {

// An input's first byte picks one.
enum Kind : char { trace, mix, address, kinds };

constexpr const char* trace_seed =
    R"({"at_ms": 20.5, "kind": "short", "request": {"config": {"num_inference_steps": 4}}})"
    "\n"
    R"({"at_ms": 0, "request": {"model": null}})"
    "\n\n"
    R"({"at_ms": 7, "kind": "short", "request": {"config": {"num_inference_steps": 4}}})";

void read_trace(std::string_view text) {
  const serve::LoadTrace read = serve::read_trace(text, "trace", Json::object());
  require(!read.arrivals.empty() && !read.kinds.empty(), "a trace has requests");
  double before = 0;
  for (const serve::LoadArrival& each : read.arrivals) {
    require(each.kind < read.kinds.size(), "each has a kind");
    require(each.at_ms >= before, "they are in order of time");
    before = each.at_ms;
  }
}

void read_mix(std::string_view text) {
  const auto read = serve::read_mix(text, Json::object());
  require(!read.empty() && read.size() <= serve::most_load_kinds, "a mix has kinds");
  for (const serve::LoadKind& each : read) {
    require(each.weight > 0, "shares are above 0");
    require(each.request["config"]["num_inference_steps"] >= 1, "there are steps");
  }
  const auto arrivals = serve::poisson_arrivals(read, 1, 10, 1e9, text.size());
  for (const serve::LoadArrival& each : arrivals)
    require(each.kind < read.size(), "each is of a kind");
}

}  // namespace

std::string make_input(Random& random) {
  const char kind = static_cast<char>(random() % kinds);
  const char* seed = kind == trace ? trace_seed
                     : kind == mix ? "50:4,40:20:128x96,0.5:50"
                                   : "http://[::1]:8000/";
  return char{kind} + (random() % 8 ? mutate_text(seed, random) : seed);
}

void read_input(std::string_view input) {
  if (input.empty()) return;
  const std::string_view text = input.substr(1);
  if (input.front() == trace) return read_trace(text);
  if (input.front() == mix) return read_mix(text);
  const serve::HttpTarget target = serve::read_target(std::string(text));
  require(!target.host.empty() && !target.port.empty(), "an address has a host and a port");
}

}  // namespace omnirt::fuzz
