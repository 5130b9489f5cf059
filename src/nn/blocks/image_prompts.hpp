#pragma once
#include <map>
#include <string>
#include <vector>

#include "runtime/context.hpp"

namespace omnirt::nn {

// Images that attention layers attend to in addition to the text, each layer with keys and values
// of its own (Ye et al. 2023, arXiv 2308.06721). Values are scaled already.
class ImagePrompts {
 public:
  struct Prompt {
    Tensor key, value;  // {B, tokens, width}
    // Where in the image the prompt holds: {1, T, 1} for each size that layers have; all {1, 1,
    // 1} for everywhere.
    std::vector<Tensor> masks;
  };
  void add(const std::string& layer, Prompt prompt) { layers_[layer].push_back(std::move(prompt)); }
  // y {B, T, width} plus what the queries of a layer attend to in its prompts.
  Tensor attended(Context& cx, const std::string& layer, const Tensor& query, Tensor y,
                  int64_t heads, double scale) const;

 private:
  std::map<std::string, std::vector<Prompt>> layers_;  // by the path of the attention
};

}  // namespace omnirt::nn
