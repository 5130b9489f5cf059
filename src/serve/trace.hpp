#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.hpp"

namespace omnirt::serve {

// Where work belongs in a trace (W3C Trace Context): ids in hexadecimal digits.
struct TraceContext {
  std::string trace_id;  // 32 digits
  std::string span_id;   // 16 digits, of the span that the work is in; "": it is the first
  bool sampled = true;   // false: who asked wants no spans
};

// A "traceparent" header; nothing of what is none.
std::optional<TraceContext> read_traceparent(std::string_view text);
std::string traceparent_of(const TraceContext& context);
// A trace of its own.
TraceContext new_trace();
std::string new_span_id();

enum class SpanKind { internal = 1, server = 2 };  // OTLP's numbers

// One piece of work and when it was done, in nanoseconds since 1970.
struct Span {
  TraceContext within;  // its parent
  std::string id;
  std::string name;
  SpanKind kind = SpanKind::internal;
  int64_t begun_ns = 0, ended_ns = 0;
  std::vector<std::pair<std::string, Json>> attributes{};  // texts, whole numbers, numbers
  std::string error{};                                     // "": it went well
};

// The system's clock.
int64_t unix_ns();

// The body of an OTLP/HTTP request (JSON, as opentelemetry-proto maps it).
std::string otlp_text(const std::vector<Span>& spans);

}  // namespace omnirt::serve
