#include "nn/sites.hpp"

namespace omnirt::nn {

std::vector<Site> sites_of(const Network& network) {
  std::vector<Site> sites;
  network.visit([&](const Module& module) {
    if (module.site_kind() != SiteKind::none) sites.push_back({module.path(), module.site_kind()});
  });
  return sites;
}

}  // namespace omnirt::nn
