#include "networks/ip_adapter/config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "nn/config_check.hpp"

namespace omnirt {
namespace {

constexpr int64_t most_layers = 1024;

class FileReader {
 public:
  FileReader(const std::map<std::string, std::vector<int64_t>>& shapes, const std::string& where)
      : shapes_(shapes), where_(where) {}

  Json config() {
    Json config = {{"_class_name", "IPAdapter"}, {"layers", layers()}};
    refuse_face_id();
    if (has("image_proj.proj.weight"))
      read_base(config);
    else if (has("image_proj.proj.3.weight"))
      read_full(config);
    else if (has("image_proj.latents"))
      read_plus(config);
    else
      refuse("its image_proj is of a kind that is not known", "base, plus and full are taken");
    return config;
  }

 private:
  bool has(const std::string& name) const { return shapes_.contains(name); }

  [[noreturn]] void refuse(const std::string& what, const std::string& way_out) const {
    throw Unsupported({where_, "", what, way_out});
  }

  int64_t size(const std::string& name, size_t axis, size_t rank) const {
    auto it = shapes_.find(name);
    if (it == shapes_.end()) refuse(fmt::format("{} is missing", name), "download it again");
    if (it->second.size() != rank) refuse(fmt::format("{} has another rank", name), "");
    return it->second[axis];
  }

  // Those of FaceID bring a LoRA for the attention's weights, or read a face's features.
  void refuse_face_id() const {
    bool lora = std::ranges::any_of(shapes_, [](const auto& entry) {
      return entry.first.starts_with("ip_adapter.") &&
             entry.first.find("_lora.") != std::string::npos;
    });
    bool faces = has("image_proj.perceiver_resampler.proj_in.weight") ||
                 (has("image_proj.norm.weight") && has("image_proj.proj.2.weight"));
    if (!lora && !faces) return;
    refuse("this is an IP-Adapter FaceID: it reads a face's features (of InsightFace), not images",
           "give an IP-Adapter of the kinds base, plus or full");
  }

  // Layers are numbered as the reference numbers the UNet's attentions: 1, 3, 5, ...
  std::vector<int64_t> layers() const {
    std::vector<int64_t> widths;
    while (static_cast<int64_t>(widths.size()) < most_layers) {
      std::string name = fmt::format("ip_adapter.{}.to_k_ip.weight", 2 * widths.size() + 1);
      if (!has(name)) break;
      widths.push_back(size(name, 0, 2));
    }
    if (widths.empty()) refuse("ip_adapter.1.to_k_ip.weight is missing", "download it again");
    return widths;
  }

  void read_base(Json& config) const {
    config["projection"] = "base";
    config["image_embed_dim"] = size("image_proj.proj.weight", 1, 2);
    int64_t width = size("image_proj.norm.weight", 0, 1);
    config["cross_attention_dim"] = width;
    config["num_tokens"] = width > 0 ? size("image_proj.proj.weight", 0, 2) / width : 0;
  }

  void read_full(Json& config) const {
    config["projection"] = "full";
    config["image_embed_dim"] = size("image_proj.proj.0.weight", 1, 2);
    config["hidden_dim"] = size("image_proj.proj.0.weight", 0, 2);
    config["cross_attention_dim"] = size("image_proj.proj.3.weight", 0, 1);
    config["num_tokens"] = 0;
  }

  void read_plus(Json& config) const {
    config["projection"] = "plus";
    config["num_tokens"] = size("image_proj.latents", 1, 3);
    config["hidden_dim"] = size("image_proj.latents", 2, 3);
    config["image_embed_dim"] = size("image_proj.proj_in.weight", 1, 2);
    config["cross_attention_dim"] = size("image_proj.proj_out.weight", 0, 2);
    config["inner_dim"] = size("image_proj.layers.0.0.to_q.weight", 0, 2);
    config["feed_forward_dim"] = size("image_proj.layers.0.1.1.weight", 0, 2);
    int64_t depth = 0;
    while (depth < most_layers && has(fmt::format("image_proj.layers.{}.0.to_q.weight", depth)))
      ++depth;
    config["depth"] = depth;
  }

  const std::map<std::string, std::vector<int64_t>>& shapes_;
  const std::string& where_;
};

}  // namespace

IPAdapterConfig read_ip_adapter_config(const Json& json, const std::string& where) {
  auto config = read_config<IPAdapterConfig>(json, where);
  nn::ConfigCheck check(where);
  bool full = config.projection == "full", plus = config.projection == "plus";
  check.one_of("projection", config.projection, {"base", "plus", "full"});
  check.range("image_embed_dim", config.image_embed_dim, 1, 1 << 16);
  check.range("cross_attention_dim", config.cross_attention_dim, 1, 1 << 16);
  check.range("num_tokens", config.num_tokens, full ? 0 : 1, 1 << 12);
  check.range("hidden_dim", config.hidden_dim, 1, 1 << 16);
  check.length("layers", config.layers.size(), most_layers);
  for (int64_t width : config.layers) check.range("layers", width, 1, 1 << 16);
  if (plus) {
    check.range("depth", config.depth, 1, 64);
    check.range("inner_dim", config.inner_dim, config.head_dim, 1 << 16);
    check.divisible("inner_dim", config.inner_dim, "the width of a head", config.head_dim);
    check.range("feed_forward_dim", config.feed_forward_dim, 1, 1 << 18);
  }
  check.finish();
  return config;
}

Json ip_adapter_config(const std::map<std::string, std::vector<int64_t>>& shapes,
                       const std::string& where) {
  bool ours = std::ranges::any_of(shapes, [](const auto& entry) {
    return entry.first.starts_with("image_proj.") || entry.first.starts_with("ip_adapter.");
  });
  return ours ? FileReader(shapes, where).config() : Json();
}

}  // namespace omnirt
