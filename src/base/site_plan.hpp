#pragma once
#include <map>
#include <string>
#include <vector>

namespace omnirt {

// What can be done differently at a module of a network, as the module itself says.
enum class SiteKind { none, self_attention, feed_forward, block };

// A module that a plan can name: its path in the network's tree.
struct Site {
  std::string path;
  SiteKind kind = SiteKind::none;
};

// What happens there instead.
struct SiteChange {
  enum class What {
    identity_attention,  // every token attends to itself alone (arXiv 2403.17377)
    blurred_queries,     // queries are smoothed over the image (arXiv 2408.00760)
    skip,                // the module adds nothing to its residual
  };
  What what = What::skip;
  double sigma = 0;  // of the blur, in tokens; infinite_blur or more: their mean
};
inline constexpr double infinite_blur = 9999;

// A change wanted at every site of a kind that a name means: "mid", "up_blocks.1.attentions.0".
struct SiteRule {
  std::string name;
  SiteKind kind = SiteKind::self_attention;
  SiteChange change;
  std::string field;  // of the request, to be named in errors
};

// Changes by the path of the module: data that layers read through the context.
class SitePlan {
 public:
  void set(const std::string& path, const SiteChange& change) { changes_[path] = change; }
  const SiteChange* find(const std::string& path) const {
    auto it = changes_.find(path);
    return it == changes_.end() ? nullptr : &it->second;
  }
  bool empty() const { return changes_.empty(); }
  size_t size() const { return changes_.size(); }
  // Equal for plans that change the same; "" for an empty one.
  std::string key() const;

 private:
  std::map<std::string, SiteChange> changes_;
};

// Whether `name` means the site at `path`: its parts are found in the path one after another, "*"
// being any one part; "down", "mid" and "up" mean down_blocks, mid_block and up_blocks, and
// "down.block_1" for "down_blocks.1". A number alone is the place in a network's one list of
// blocks ("7": "transformer_blocks.7").
bool means_site(const std::string& name, const std::string& path);

// The sites that a rule names.
std::vector<std::string> sites_of_rule(const SiteRule& rule, const std::vector<Site>& sites);

// Names by which sites of a kind can be called: their paths and those of the modules above them.
std::vector<std::string> names_of_sites(const std::vector<Site>& sites, SiteKind kind);

}  // namespace omnirt
