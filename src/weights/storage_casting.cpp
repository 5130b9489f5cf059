#include "weights/storage_casting.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"

namespace omnirt {
namespace {

constexpr const char* field = "config.storage_dtype";
constexpr const char* skip_row = "_skip_layerwise_casting_patterns";
constexpr std::string_view weight_suffix = ".weight", bias_suffix = ".bias";

// diffusers' DEFAULT_SKIP_MODULES_PATTERN, and what the network's metadata adds.
std::vector<std::string> patterns_of(const nn::Network& network) {
  std::vector<std::string> patterns{"pos_embed", "patch_embed", "norm", "^proj_in$", "^proj_out$"};
  const nn::Metadata metadata = network.metadata();
  if (!metadata.contains(skip_row)) return patterns;
  for (const Json& each : metadata[skip_row]) patterns.push_back(each.get<std::string>());
  return patterns;
}

// Of regular expressions only what these patterns use: text, and the marks of both ends.
bool matches(std::string_view pattern, std::string_view name) {
  const bool begins = pattern.starts_with('^'), ends = pattern.ends_with('$');
  if (begins) pattern.remove_prefix(1);
  if (ends) pattern.remove_suffix(1);
  if (begins && ends) return name == pattern;
  if (begins) return name.starts_with(pattern);
  return ends ? name.ends_with(pattern) : name.find(pattern) != std::string_view::npos;
}

// A module is skipped with all that is in it.
bool skipped(const std::vector<std::string>& patterns, std::string_view module) {
  for (size_t end = module.find('.');; end = module.find('.', end + 1)) {
    const std::string_view name = module.substr(0, end);
    if (std::ranges::any_of(patterns, [&](const auto& each) { return matches(each, name); }))
      return true;
    if (end == std::string_view::npos) return false;
  }
}

// "down_blocks.0.conv" of its weight or bias; "" for parameters of other names.
std::string_view layer_of(std::string_view parameter) {
  for (std::string_view suffix : {weight_suffix, bias_suffix}) {
    if (parameter.ends_with(suffix)) return parameter.substr(0, parameter.size() - suffix.size());
  }
  return {};
}

// Norms have vectors under the same name; raw parameters (tables of positions) have other names.
bool is_castable_layer(const WeightStore& store, std::string_view layer) {
  auto weight = store.all().find(std::string(layer) + std::string(weight_suffix));
  return weight != store.all().end() && weight->second->shape.size() >= 2;
}

bool is_float(io::Dtype dtype) {
  return io::is_plain_float(dtype) || dtype == io::Dtype::f64;
}

}  // namespace

std::shared_ptr<const WeightStore> cast_for_storage(const WeightStore& store,
                                                    const nn::Network& network, io::Dtype type,
                                                    const std::string& component) {
  const std::vector<std::string> patterns = patterns_of(network);
  auto made = std::make_shared<WeightStore>();
  bool any = false;
  for (const auto& [name, stored] : store.all()) {
    Weight weight = *stored;
    const std::string_view layer = layer_of(name);
    const bool cast = is_castable_layer(store, layer) && !skipped(patterns, layer);
    if (cast && weight.encoding) {
      throw Unsupported({field, component,
                         fmt::format("its weights are stored as {}, which no cast makes smaller",
                                     weight.encoding->name()),
                         "omit it for this component"});
    }
    if (cast && is_float(weight.dtype) && io::dtype_bits(type) < io::dtype_bits(weight.dtype)) {
      weight.kept_as = type;
      any = true;
    }
    made->add(name, std::move(weight));
  }
  if (any) return made;
  throw Unsupported({field, component,
                     fmt::format("no weight of its layers is stored in a wider type than {}",
                                 io::common_dtype_name(type)),
                     "omit it for this component"});
}

}  // namespace omnirt
