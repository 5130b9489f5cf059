#include "serve/trace.hpp"

#include <algorithm>
#include <chrono>

#include "serve/http.hpp"
#include "serve/problem.hpp"

namespace omnirt::serve {
namespace {

constexpr size_t trace_digits = 32, span_digits = 16;
constexpr int status_error = 2;  // OTLP's number

bool is_id(std::string_view text, size_t digits) {
  auto is_digit = [](char each) {
    return (each >= '0' && each <= '9') || (each >= 'a' && each <= 'f');
  };
  return text.size() == digits && std::all_of(text.begin(), text.end(), is_digit) &&
         text.find_first_not_of('0') != std::string_view::npos;
}

Json value_of(const Json& value) {
  // A whole number of 64 bits is a text in protobuf's JSON.
  if (value.is_number_integer()) return {{"intValue", std::to_string(value.get<int64_t>())}};
  if (value.is_number()) return {{"doubleValue", value}};
  if (value.is_boolean()) return {{"boolValue", value}};
  return {{"stringValue", value.is_string() ? value : Json(value.dump())}};
}

Json attribute(const std::string& key, const Json& value) {
  return {{"key", key}, {"value", value_of(value)}};
}

Json json_of(const Span& span) {
  Json attributes = Json::array();
  for (const auto& [key, value] : span.attributes) attributes.push_back(attribute(key, value));
  Json json = {{"traceId", span.within.trace_id},
               {"spanId", span.id},
               {"name", span.name},
               {"kind", static_cast<int>(span.kind)},
               {"startTimeUnixNano", std::to_string(span.begun_ns)},
               {"endTimeUnixNano", std::to_string(span.ended_ns)},
               {"attributes", attributes}};
  if (!span.within.span_id.empty()) json["parentSpanId"] = span.within.span_id;
  if (!span.error.empty()) json["status"] = {{"code", status_error}, {"message", span.error}};
  return json;
}

}  // namespace

// "00-<trace>-<span>-<flags>"; of later versions what stands behind is ignored, as the standard has
// it.
std::optional<TraceContext> read_traceparent(std::string_view text) {
  constexpr size_t length = 55, span_at = 36, flags_at = 53;
  if (text.size() < length || text[2] != '-' || text[span_at - 1] != '-' ||
      text[flags_at - 1] != '-')
    return std::nullopt;
  const std::string_view version = text.substr(0, 2), flags = text.substr(flags_at, 2);
  if (version == "ff" || (version == "00" && text.size() != length)) return std::nullopt;
  if (text.size() > length && text[length] != '-') return std::nullopt;
  const std::string_view trace = text.substr(3, trace_digits);
  const std::string_view span = text.substr(span_at, span_digits);
  const bool odd = version.find_first_not_of("0123456789abcdef") != std::string_view::npos ||
                   flags.find_first_not_of("0123456789abcdef") != std::string_view::npos;
  if (odd || !is_id(trace, trace_digits) || !is_id(span, span_digits)) return std::nullopt;
  constexpr std::string_view odd_digits = "13579bdf";
  return TraceContext{std::string(trace), std::string(span),
                      odd_digits.find(flags.back()) != std::string_view::npos};
}

std::string traceparent_of(const TraceContext& context) {
  return "00-" + context.trace_id + "-" + context.span_id + (context.sampled ? "-01" : "-00");
}

TraceContext new_trace() {
  return {.trace_id = random_id(), .span_id = ""};
}

std::string new_span_id() {
  return random_id().substr(0, span_digits);
}

int64_t unix_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string otlp_text(const std::vector<Span>& spans) {
  Json all = Json::array();
  for (const Span& span : spans) all.push_back(json_of(span));
  const Json scope = {{"scope", {{"name", "omnirt"}}}, {"spans", all}};
  const Json resource = {{"attributes", Json::array({attribute("service.name", "omnirt")})}};
  return text_of({{"resourceSpans",
                   Json::array({{{"resource", resource}, {"scopeSpans", Json::array({scope})}}})}});
}

}  // namespace omnirt::serve
