#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "nn/original_layout.hpp"

namespace omnirt {

using Qwen21Shapes = std::map<std::string, std::vector<int64_t>>;

// Files of one transformer have the reference's names; ComfyUI's keep a perceptron's gate and
// projection in one matrix (diffusers
// single_file_utils.convert_qwen_image21_transformer_checkpoint_to_diffusers).
std::vector<nn::OriginalLayout> qwen_image21_layouts();
// Which of them names of these shapes are in.
std::string qwen_image21_layout_of(const Qwen21Shapes& shapes);
// The config.json of such a file, inferred from names and shapes; null for files of other classes.
// Throws Unsupported under `where` for heads that no released model has.
Json qwen_image21_config_from_tensors(const Qwen21Shapes& shapes, const std::string& where);

}  // namespace omnirt
