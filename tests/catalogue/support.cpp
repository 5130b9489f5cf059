#include "catalogue/support.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "catalogue/catalogue.hpp"
#include "digests.hpp"
#include "io/file.hpp"
#include "io/safetensors.hpp"
#include "tensor/weight.hpp"

namespace omnirt::testing {
namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder()
    : path_(fs::temp_directory_path() / fmt::format("omnirt-test-{:08x}", std::random_device{}())) {
  fs::create_directories(path_);
}

TemporaryFolder::~TemporaryFolder() {
  fs::remove_all(path_);
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> all;
  for (const auto& entry : fs::directory_iterator(folder))
    all.push_back(entry.path().filename().string());
  std::ranges::sort(all);
  return all;
}

std::vector<io::Image> written_images(GenerateRequest request) {
  TemporaryFolder folder;
  request.config["output"] = folder.file("made_{index}.png");
  Outcome outcome = run(std::move(request));
  std::vector<io::Image> images;
  for (const ArtifactReport& artifact : outcome.report.artifacts)
    images.push_back(io::read_image(artifact.path));
  return images;
}

io::Image written_image(GenerateRequest request) {
  std::vector<io::Image> images = written_images(std::move(request));
  EXPECT_EQ(images.size(), 1U);
  return images.at(0);
}

GenerateRequest golden_request(const std::string& name) {
  return folder_request(source_path("tests/goldens/pipelines/" + name));
}

Engine& engine() {
  static Engine shared(builtin_catalogue());
  return shared;
}

namespace {

// As large as an image that was cut out of it.
Tensor middle_of(const Tensor& all, const io::Image& cut) {
  const int64_t top = (all.size(2) - cut.height) / 2, left = (all.size(3) - cut.width) / 2;
  return all.narrow(2, top, cut.height).narrow(3, left, cut.width);
}

// Prepends `folder` to paths, in lists of lists too.
void resolve(Json& value, const fs::path& folder) {
  if (value.is_string()) value = (folder / value.get<std::string>()).string();
  if (!value.is_array()) return;
  for (Json& each : value) resolve(each, folder);
}

}  // namespace

GenerateRequest folder_request(const fs::path& folder) {
  GenerateRequest request = parse_request(read_json_file(folder / "request.json"));
  if (request.model.starts_with(".")) request.model = (folder / request.model).string();
  for (auto& [name, value] : request.inputs.items()) {
    if (name.find("prompt") == std::string::npos) resolve(value, folder);
  }
  for (auto& [name, value] : request.components.items()) resolve(value, folder);
  for (Json& adapter : request.adapters) {
    if (adapter.is_object() && adapter.value("path", "").starts_with("."))
      resolve(adapter["path"], folder);
  }
  return request;
}

Outcome run(GenerateRequest request) {
  return run_on(engine(), std::move(request));
}

Outcome run_on(Engine& engine, GenerateRequest request) {
  TemporaryFolder folder;
  if (!request.config.contains("output")) request.config["output_dir"] = folder.path().string();
  Outcome outcome;
  RunHooks hooks;
  hooks.reads = {"decoded_images"};
  hooks.on_step = [&](const LoopProgress& progress, const Tensor& latents) {
    outcome.latents_after.push_back(latents.clone());
    outcome.timesteps.push_back(progress.timestep);
  };
  hooks.on_block = [&](const std::string& block, const Frame& frame) {
    for (const char* condition : {"cond", "uncond"}) {
      if (!block.starts_with("encode_prompt")) continue;
      const Tensor* embeds = frame.peek<Tensor>("prompt_embeds", condition);
      const Tensor* pooled = frame.peek<Tensor>("pooled_prompt_embeds", condition);
      if (embeds) outcome.prompt_embeds[condition] = *embeds;
      if (pooled) outcome.pooled_embeds[condition] = *pooled;
    }
    if (block == "decode_latents" || block == "decode_circular" || block == "decode_layers" ||
        block == "fit_images")
      outcome.image = (*frame.peek<Tensor>("decoded_images") * 0.5 + 0.5).clamp(0, 1);
    if (block == "crop_to_reference")
      outcome.image = middle_of(outcome.image, frame.peek<std::vector<io::Image>>("images")->at(0));
  };
  engine.run(request, {}, hooks, outcome.report);
  if (!outcome.latents_after.empty()) record_digest("latents", outcome.latents_after.back());
  record_digest("image", outcome.image);
  return outcome;
}

std::map<std::string, Tensor> read_tensors(const fs::path& file) {
  auto opened = io::SafetensorsFile::open(file);
  std::map<std::string, Tensor> tensors;
  for (const io::TensorEntry& entry : opened->entries()) {
    auto bytes = opened->data(entry);
    Weight weight{entry.name,   entry.dtype,     entry.shape, bytes.data(),
                  bytes.size(), opened->owner(), {}};
    tensors[entry.name] = weight.view().clone();
  }
  return tensors;
}

Json read_json_file(const fs::path& file) {
  return parse_json(io::read_file(file, 1 << 20), file.string());
}

double psnr(const Tensor& a, const Tensor& b, double peak) {
  double error = (a.to(at::kDouble) - b.to(at::kDouble)).square().mean().item<double>();
  return error == 0 ? INFINITY : 10 * std::log10(peak * peak / error);
}

double relative_error(const Tensor& got, const Tensor& expected) {
  double scale = expected.to(at::kDouble).abs().max().item<double>();
  return (got.to(at::kDouble) - expected.to(at::kDouble)).abs().max().item<double>() / scale;
}

}  // namespace omnirt::testing
