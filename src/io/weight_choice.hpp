#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace omnirt::io {

// The file that holds, or lists, a component's weights.
struct WeightChoice {
  std::filesystem::path path;
  bool is_index = false;  // a *.safetensors.index.json, which lists shards
  std::string variant;    // "fp16" of model.fp16.safetensors; "" for the plain file
};

// Looks into a component's folder for `<base>.safetensors`, `<base>.<variant>.safetensors` and
// their index files, for each base name in order (`diffusion_pytorch_model`, `model`), and takes
// the first base that has any. Of its variants: the wanted one, else the plain one; with none
// wanted, also the only one, else "fp32". The choice names its variant, for a warning where it is
// not the wanted one. Where both a single file and an index are there, the index counts, as in
// diffusers; for the base `model` the single file, as in transformers.
// Throws InvalidFile when the folder is missing or holds no such file, when several variants leave
// no choice, and when there are only pickles (then with the way to convert them).
WeightChoice choose_weights(const std::filesystem::path& folder, std::span<const std::string> bases,
                            const std::string& variant = "");

// The same among the files of a folder that is not here: `names` are all that it holds, `folder`
// names it in errors.
WeightChoice choose_weights_among(const std::filesystem::path& folder,
                                  std::vector<std::string> names,
                                  std::span<const std::string> bases,
                                  const std::string& variant = "");

}  // namespace omnirt::io
