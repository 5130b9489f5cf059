#include "cli/axes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/nearest.hpp"
#include "io/utf8.hpp"

namespace omnirt::cli {
namespace {

constexpr std::string_view of_inputs = "inputs.", of_guider = "guider.";

std::string with_underscores(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

std::vector<Json> split(const std::string& text) {
  std::vector<Json> values;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    values.push_back(parse_scalar(text.substr(at, comma - at)));
    at = comma + 1;
  }
  return values;
}

std::vector<Json> values_of(const std::string& flag, const std::string& text) {
  if (!text.starts_with('[')) return split(text);
  Json list = parse_json(text, flag);
  return {list.begin(), list.end()};
}

const KeyInfo* find_key(const std::string& name, const std::vector<const KeyInfo*>& keys) {
  auto found = std::ranges::find_if(keys, [&](const KeyInfo* key) {
    return name == key->name || name == with_underscores(key->flag_name());
  });
  return found == keys.end() ? nullptr : *found;
}

[[noreturn]] void refuse_name(const std::string& flag, const std::string& name,
                              const std::vector<const KeyInfo*>& keys) {
  std::vector<std::string> known{"prompt", "negative_prompt", "model"};
  for (const KeyInfo* key : keys) {
    known.emplace_back(key->name);
    known.push_back(with_underscores(key->flag_name()));
  }
  const std::string nearest = nearest_name(name, known);
  throw InvalidRequest({flag, name, "neither a config key, an input nor the model",
                        nearest.empty() ? "`omnirt models ID` lists the keys; inputs are "
                                          "inputs.NAME, settings of the guider guider.NAME"
                                        : fmt::format("did you mean {}?", nearest)});
}

}  // namespace

Axis Axis::parse(const std::string& flag, const std::string& text,
                 const std::vector<const KeyInfo*>& keys) {
  const size_t equals = text.find('=');
  if (io::find_invalid_utf8(text) != std::string::npos)
    throw InvalidRequest({flag, "", "not UTF-8", "set the terminal to UTF-8"});
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw InvalidRequest(
        {flag, text, "name=value,value,... is expected", "for instance steps=5,10,20"});
  Axis axis;
  axis.name_ = with_underscores(text.substr(0, equals));
  if (axis.name_ == "prompt" || axis.name_ == "negative_prompt") {
    axis.kind_ = Kind::input;
  } else if (axis.name_ == "model") {
    axis.kind_ = Kind::model;
  } else if (axis.name_.starts_with(of_inputs)) {
    axis.kind_ = Kind::input;
    axis.name_ = axis.name_.substr(of_inputs.size());
  } else if (axis.name_.starts_with(of_guider)) {
    axis.kind_ = Kind::guider;
    axis.name_ = axis.name_.substr(of_guider.size());
  } else if (const KeyInfo* key = find_key(axis.name_, keys)) {
    axis.name_ = key->name;
  } else {
    refuse_name(flag, axis.name_, keys);
  }
  axis.values_ = values_of(flag, text.substr(equals + 1));
  if (axis.values_.empty() || axis.values_.size() > most_values) {
    throw InvalidRequest({flag, fmt::format("{} values", axis.values_.size()),
                          fmt::format("1 to {} are possible", most_values), ""});
  }
  return axis;
}

bool Axis::varies(const std::string& config_key) const {
  return kind_ == Kind::config && name_ == config_key;
}

void Axis::apply(GenerateRequest& request, size_t place) const {
  const Json& value = values_.at(place);
  switch (kind_) {
    case Kind::config:
      request.config[name_] = value;
      break;
    case Kind::input:
      request.inputs[name_] = value;
      break;
    case Kind::guider:
      request.guider[name_] = value;
      break;
    case Kind::model:
      request.model = value.is_string() ? value.get<std::string>() : value.dump();
      break;
  }
}

std::string Axis::label(size_t place) const {
  const Json& value = values_.at(place);
  const std::string shown = value.is_string() ? value.get<std::string>() : value.dump();
  return kind_ == Kind::input && name_ == "prompt" ? shown : fmt::format("{}: {}", name_, shown);
}

}  // namespace omnirt::cli
