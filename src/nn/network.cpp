#include "nn/network.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/ensure.hpp"
#include "nn/feature_metadata.hpp"

namespace omnirt::nn {

bool Metadata::contains(const std::string& key) const {
  return std::ranges::any_of(rows_, [&](const Row& row) { return row.key == key; });
}

const Json& Metadata::operator[](const std::string& key) const& {
  auto it = std::ranges::find_if(rows_, [&](const Row& row) { return row.key == key; });
  ensure(it != rows_.end(), "metadata has no '{}'", key);
  return it->value;
}

std::vector<std::string> Metadata::keys() const {
  std::vector<std::string> keys;
  for (const Row& row : rows_) keys.push_back(row.key);
  return keys;
}

std::vector<Json> Metadata::values() const {
  std::vector<Json> values;
  for (const Row& row : rows_) values.push_back(row.value);
  return values;
}

std::string Metadata::describe(const std::string& title, bool verbose) const {
  std::string text = title + "\n";
  for (const Row& row : rows_) {
    text += fmt::format("  {:<36} {}\n", row.key, shown_value(row.value));
    if (verbose) text += fmt::format("      {}\n", row.what);
  }
  return text;
}

std::vector<Site> sites_of(const Network& network) {
  std::vector<Site> sites;
  network.visit([&](const Module& module) {
    if (module.site_kind() != SiteKind::none) sites.push_back({module.path(), module.site_kind()});
  });
  return sites;
}

}  // namespace omnirt::nn
