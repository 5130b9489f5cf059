#include "base/site_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace omnirt {
namespace {

using Parts = std::vector<std::string>;

Parts split(const std::string& text) {
  Parts parts(1);
  for (char c : text) {
    if (c == '.')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

bool is_number(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// The short ways to say a UNet's blocks, as papers and pipelines have them.
Parts spelled_out(const std::string& name) {
  if (is_number(name)) return {"transformer_blocks", name};
  Parts parts;
  for (const std::string& part : split(name)) {
    size_t line = part.rfind('_');
    std::string head = part.substr(0, line);
    bool numbered = line != std::string::npos && is_number(part.substr(line + 1));
    if (part == "down" || part == "up") {
      parts.push_back(part + "_blocks");
    } else if (part == "mid") {
      parts.emplace_back("mid_block");
    } else if (numbered && (head == "block" || head == "attentions")) {
      if (head == "attentions") parts.push_back(head);
      parts.push_back(part.substr(line + 1));
    } else {
      parts.push_back(part);
    }
  }
  return parts;
}

const char* to_string(SiteChange::What what) {
  switch (what) {
    case SiteChange::What::identity_attention:
      return "identity";
    case SiteChange::What::blurred_queries:
      return "blur";
    case SiteChange::What::skip:
      return "skip";
  }
  return "";
}

}  // namespace

std::string SitePlan::key() const {
  std::string key;
  for (const auto& [path, change] : changes_)
    key += fmt::format("{}={}:{};", path, to_string(change.what), change.sigma);
  return key;
}

bool means_site(const std::string& name, const std::string& path) {
  Parts wanted = spelled_out(name), parts = split(path);
  auto same = [](const std::string& part, const std::string& want) {
    return want == "*" || want == part;
  };
  auto found = std::search(parts.begin(), parts.end(), wanted.begin(), wanted.end(), same);
  // A number names a block of the network itself, not one of a block's own list.
  if (is_number(name)) return found == parts.begin() && found != parts.end();
  return found != parts.end();
}

std::vector<std::string> sites_of_rule(const SiteRule& rule, const std::vector<Site>& sites) {
  std::vector<std::string> paths;
  for (const Site& site : sites) {
    if (site.kind == rule.kind && means_site(rule.name, site.path)) paths.push_back(site.path);
  }
  return paths;
}

std::vector<std::string> names_of_sites(const std::vector<Site>& sites, SiteKind kind) {
  std::vector<std::string> names;
  for (const Site& site : sites) {
    if (site.kind != kind) continue;
    std::string name;
    for (const std::string& part : split(site.path)) {
      name += (name.empty() ? "" : ".") + part;
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

}  // namespace omnirt
