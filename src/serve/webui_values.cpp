#include "serve/webui_values.hpp"

#include <cmath>
#include <string>

#include "base/json_text.hpp"

namespace omnirt::serve {
namespace {

// Beyond it not every whole number has a double.
constexpr double most_exact = 9007199254740992.0;

std::optional<Json> integer_of(const Json& value) {
  if (value.is_number_integer()) return value;
  if (!value.is_number_float()) return std::nullopt;
  const double number = value.get<double>();
  if (std::trunc(number) != number || std::abs(number) > most_exact) return std::nullopt;
  return Json(static_cast<int64_t>(number));
}

std::optional<Json> boolean_of(const Json& value) {
  if (value.is_boolean()) return value;
  if (value == 0 || value == 1) return Json(value == 1);
  return std::nullopt;
}

std::optional<Json> text_of_value(const Json& value) {
  if (value.is_string()) return value;
  if (value.is_number()) return Json(value.dump());
  return std::nullopt;
}

}  // namespace

std::optional<Json> webui_value(const Json& value, std::string_view type) {
  if (type == "string") return text_of_value(value);
  if (type == "array") return value.is_array() ? std::optional(value) : std::nullopt;
  if (type == "object") return value.is_object() ? std::optional(value) : std::nullopt;
  if (type == "any") return value;
  const Json plain = value.is_string() ? parse_scalar(value.get<std::string>()) : value;
  if (type == "integer") return integer_of(plain);
  if (type == "boolean") return boolean_of(plain);
  return plain.is_number() ? std::optional(plain) : std::nullopt;
}

bool is_nothing(const Json& value) {
  if (value.is_structured() || value.is_string())
    return value.is_string() ? value == "" : value.empty();
  return value.is_null() || value == false || value == 0 || value == -1;
}

}  // namespace omnirt::serve
