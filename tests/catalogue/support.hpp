#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "io/image.hpp"
#include "source_paths.hpp"
#include "tensor/tensor.hpp"

namespace omnirt::testing {

// What a run made, stage by stage.
struct Outcome {
  RunReport report;
  std::map<std::string, Tensor> prompt_embeds;  // by condition
  std::map<std::string, Tensor> pooled_embeds;  // by condition, where the model has them
  std::vector<Tensor> latents_after;            // by call of the network
  std::vector<double> timesteps;
  Tensor image;  // {n, 3, H, W} in 0..1, before rounding
};

// The engine that all tests of this program share, so that a model is loaded once.
Engine& engine();

// Runs a request into a folder of its own, which is removed again, unless it names an output.
Outcome run(GenerateRequest request);
Outcome run_on(Engine& engine, GenerateRequest request);

// A request of tests/goldens/pipelines or step_cache, whose paths are relative to its folder; a
// model that is no path is an id.
GenerateRequest folder_request(const std::filesystem::path& folder);

// The request of a run in tests/goldens/pipelines, by "model/run".
GenerateRequest golden_request(const std::string& name);

// A folder of its own, which is removed with it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// What is in a folder, by name, in the order of the names.
std::vector<std::string> names_in(const std::filesystem::path& folder);

// The images of a run as its files hold them, in the order of their seeds.
std::vector<io::Image> written_images(GenerateRequest request);
// The only one.
io::Image written_image(GenerateRequest request);

// The tensors of a safetensors file, copied.
std::map<std::string, Tensor> read_tensors(const std::filesystem::path& file);
Json read_json_file(const std::filesystem::path& file);

// 10 log10(peak^2 / mean squared difference), in dB; infinity when equal.
double psnr(const Tensor& a, const Tensor& b, double peak);
// Largest difference over the largest value of `expected`.
double relative_error(const Tensor& got, const Tensor& expected);

}  // namespace omnirt::testing
