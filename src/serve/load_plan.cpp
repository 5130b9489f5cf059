#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "serve/load.hpp"

namespace omnirt::serve {
namespace {

// `text` up to `mark`, which goes with it.
std::string_view cut(std::string_view& text, char mark) {
  const size_t at = text.find(mark);
  const std::string_view piece = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return piece;
}

[[noreturn]] void refuse_mix(std::string_view piece, const std::string& message) {
  throw InvalidRequest({"mix", std::string(piece.substr(0, 100)), message,
                        "give SHARE:STEPS or SHARE:STEPS:WIDTHxHEIGHT, with commas between them"});
}

int64_t positive(std::string_view text, std::string_view piece) {
  const Json number = parse_scalar(std::string(text));
  if (!number.is_number_integer() || number < 1 || number > 1'000'000)
    refuse_mix(piece, "whole numbers from 1 are expected");
  return number.get<int64_t>();
}

LoadKind read_kind(std::string_view piece, const Json& base) {
  std::string_view rest = piece;
  const Json share = parse_scalar(std::string(cut(rest, ':')));
  if (!share.is_number() || !(share.get<double>() > 0) || share.get<double>() > 1e6)
    refuse_mix(piece, "a share above 0 is expected");
  LoadKind kind{.weight = share.get<double>(), .request = base};
  const int64_t steps = positive(cut(rest, ':'), piece);
  kind.name = fmt::format("{} steps", steps);
  kind.request["config"]["num_inference_steps"] = steps;
  if (rest.empty() && !piece.ends_with(':')) return kind;
  kind.name += fmt::format(" {}", rest);
  kind.request["config"]["width"] = positive(cut(rest, 'x'), piece);
  kind.request["config"]["height"] = positive(rest, piece);
  return kind;
}

// Uniform over (0, 1], by the generator's bits alone: the library's distributions differ between
// machines.
double uniform(std::mt19937_64& generator) {
  return (static_cast<double>(generator() >> 11) + 1) / 9007199254740992.0;
}

size_t draw_kind(const std::vector<LoadKind>& kinds, double share) {
  double sum = 0;
  for (const LoadKind& kind : kinds) sum += kind.weight;
  for (size_t i = 0; i + 1 < kinds.size(); ++i) {
    share -= kinds[i].weight / sum;
    if (share <= 0) return i;
  }
  return kinds.size() - 1;
}

// A line's place in the trace, for errors.
struct TraceLine {
  const std::string& where;
  size_t number;
  std::string field(const char* name) const {
    return fmt::format("{}:{}: {}", where, number, name);
  }
};

size_t kind_of_line(const Json& line, const TraceLine& at, const Json& base,
                    std::vector<LoadKind>& kinds) {
  Json request = base;
  if (line.contains("request")) {
    if (!line["request"].is_object())
      throw InvalidRequest(
          {at.field("request"), shown(line["request"]), "an object is expected", ""});
    request.merge_patch(line["request"]);
  }
  const Json name = line.value("kind", Json("requests"));
  if (!name.is_string() || name.get<std::string>().size() > 100)
    throw InvalidRequest(
        {at.field("kind"), shown(name), "a text of up to 100 bytes is expected", ""});
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i].name != name) continue;
    if (kinds[i].request != request)
      throw InvalidRequest({at.field("request"), shown(name), "is another than the kind's first",
                            "give requests of one kind the same steps and sizes"});
    return i;
  }
  if (kinds.size() >= most_load_kinds)
    throw InvalidRequest({at.field("kind"), shown(name),
                          fmt::format("more than {} kinds", most_load_kinds), "name fewer"});
  kinds.push_back({.name = name.get<std::string>(), .request = std::move(request)});
  return kinds.size() - 1;
}

double time_of_line(const Json& line, const TraceLine& at) {
  const Json time = line.value("at_ms", Json());
  const double most = static_cast<double>(most_load_seconds) * 1000;
  if (!time.is_number() || !(time.get<double>() >= 0) || time.get<double>() > most)
    throw InvalidRequest({at.field("at_ms"), shown(time),
                          fmt::format("milliseconds from 0 to {:.0f} are expected", most), ""});
  return time.get<double>();
}

void check_names(const Json& line, const TraceLine& at) {
  if (!line.is_object())
    throw InvalidRequest({at.field("line"), shown(line), "an object is expected", ""});
  for (const auto& [name, value] : line.items()) {
    if (name != "at_ms" && name != "kind" && name != "request")
      throw InvalidRequest({at.field(name.substr(0, 100).c_str()), shown(value), "unknown",
                            "a line has at_ms, kind and request"});
  }
}

}  // namespace

std::vector<LoadKind> read_mix(std::string_view text, const Json& base) {
  std::vector<LoadKind> kinds;
  do {
    kinds.push_back(read_kind(cut(text, ','), base));
    if (kinds.size() > most_load_kinds)
      refuse_mix("", fmt::format("has more than {} kinds", most_load_kinds));
  } while (!text.empty());
  return kinds;
}

double rate_of_load(const std::vector<LoadKind>& kinds, double load) {
  double weights = 0, ms = 0;
  for (const LoadKind& kind : kinds) {
    weights += kind.weight;
    ms += kind.weight * kind.own_ms;
  }
  return load * weights * 1000 / ms;
}

std::vector<LoadArrival> poisson_arrivals(const std::vector<LoadKind>& kinds, double per_second,
                                          size_t most, double seconds, uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<LoadArrival> arrivals;
  double at_ms = 0;
  while (arrivals.size() < most) {
    at_ms -= std::log(uniform(generator)) * 1000 / per_second;
    if (at_ms > seconds * 1000) break;
    arrivals.push_back({at_ms, draw_kind(kinds, uniform(generator))});
  }
  return arrivals;
}

LoadTrace read_trace(std::string_view text, const std::string& where, const Json& base) {
  LoadTrace trace;
  for (size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = cut(text, '\n');
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const TraceLine at{where, number};
    if (trace.arrivals.size() >= most_load_requests)
      throw InvalidFile(
          {where, "", fmt::format("more than {} requests", most_load_requests), "split the trace"});
    const Json json = parse_json(line, fmt::format("{}:{}", where, number), size_t{1} << 20);
    check_names(json, at);
    trace.arrivals.push_back({time_of_line(json, at), kind_of_line(json, at, base, trace.kinds)});
  }
  if (trace.arrivals.empty()) throw InvalidFile({where, "", "has no request", "give one per line"});
  std::stable_sort(trace.arrivals.begin(), trace.arrivals.end(),
                   [](const auto& a, const auto& b) { return a.at_ms < b.at_ms; });
  return trace;
}

}  // namespace omnirt::serve
