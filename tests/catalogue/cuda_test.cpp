// The cuda backend against the cpu backend at each level, on a checkpoint of SD1.5's size with
// random weights, and against the goldens of each family. Skipped by name where there is no device.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "backends/cuda/cuda_backend.hpp"
#include "catalogue/golden_parity.hpp"
#include "catalogue/support.hpp"
#include "io/file.hpp"
#include "io/safetensors_writer.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;

// A random weight that keeps activations at about their size: norms scale by 1, biases are 0.
Tensor random_weight(const std::string& name, const std::vector<int64_t>& shape, uint64_t seed) {
  bool weight = name.ends_with("weight");
  if (shape.size() < 2) return at::full(shape, weight ? 1.0 : 0.0, at::kHalf);
  int64_t fan_in = 1;
  for (size_t i = 1; i < shape.size(); ++i) fan_in *= shape[i];
  Tensor values = at::randn(shape, at::detail::createCPUGenerator(seed), at::kFloat);
  bool table = name.find("embedding.weight") != std::string::npos;
  return (values * (table ? 0.02 : 1 / std::sqrt(static_cast<double>(fan_in)))).to(at::kHalf);
}

void write_weights(const fs::path& file, const fs::path& parameters) {
  std::vector<Tensor> kept;
  std::vector<io::TensorView> views;
  uint64_t seed = 1;
  const Json shapes = read_json_file(parameters);
  for (const auto& [name, shape] : shapes.items()) {
    kept.push_back(random_weight(name, shape.get<std::vector<int64_t>>(), seed++).contiguous());
    views.push_back(
        {name,
         io::Dtype::f16,
         kept.back().sizes().vec(),
         {static_cast<const std::byte*>(kept.back().const_data_ptr()), kept.back().nbytes()}});
  }
  io::write_safetensors(file, views);
}

// The folder of a model; removed with the object.
class RandomModel {
 public:
  RandomModel()
      : path_(fs::temp_directory_path() /
              fmt::format("omnirt-sd15-{:08x}", std::random_device{}())) {
    fs::copy(source_path("tests/data/configs/sd-v1-5"), path_, fs::copy_options::recursive);
    fs::copy(source_path("tests/data/tokenizers/clip-l"), path_ / "tokenizer");
    Json index = read_json_file(path_ / "model_index.json");
    for (const char* unused : {"safety_checker", "feature_extractor"}) index.erase(unused);
    io::write_file(path_ / "model_index.json", index.dump());
    for (auto [component, base] : {std::pair{"unet", "diffusion_pytorch_model"},
                                   {"vae", "diffusion_pytorch_model"},
                                   {"text_encoder", "model"}}) {
      write_weights(
          path_ / component / (std::string(base) + ".safetensors"),
          source_path(fmt::format("tests/data/configs/parameters/{}_sd-v1-5.json", component)));
    }
  }
  ~RandomModel() { fs::remove_all(path_); }
  RandomModel(const RandomModel&) = delete;
  RandomModel& operator=(const RandomModel&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

GenerateRequest request_of(const RandomModel& model, const std::string& backend) {
  GenerateRequest request;
  request.model = model.path().string();
  request.backend = backend;
  request.inputs["prompt"] = "a red apple";
  // Four steps: the first calls run op by op and are captured, the others are played back.
  request.config = {{"seed", 1}, {"num_inference_steps", 4}, {"width", 256}, {"height", 256}};
  return request;
}

class Cuda : public ::testing::Test {
 protected:
  void SetUp() override {
    Availability found = availability(cuda_backend_info());
    if (!found.available) GTEST_SKIP() << "cuda: " << found.reason;
  }
};

TEST_F(Cuda, GivesTheCpusImageOfAnSd15SizeCheckpointAtEveryLevel) {
  RandomModel model;
  Tensor expected = run(request_of(model, "cpu")).image;
  for (const char* level : {"eager", "kernel_override", "compile"}) {
    GenerateRequest request = request_of(model, "cuda");
    request.config["level"] = level;
    for (const char* warmth : {"cold", "warm"}) {
      Outcome outcome = run(request);
      // The project's floor between backends in fp32.
      EXPECT_GT(psnr(outcome.image, expected, 1.0), 50) << level << ", " << warmth;
      EXPECT_THAT(outcome.report.fallbacks, ::testing::IsEmpty()) << level;
      EXPECT_GT(outcome.report.memory.tensor_peak_bytes, 0u);
    }
  }
}

// By kernel_override, which computes resident weights and those that come and go the same way.
TEST_F(Cuda, GivesTheSameBitsWhereWeightsComeAndGoWithinABudgetOfTheDevice) {
  RandomModel model;
  GenerateRequest request = request_of(model, "cuda");
  request.config["level"] = "kernel_override";
  const Outcome resident = run(request);
  for (const char* offload : {"component", "group", "leaf"}) {
    SCOPED_TRACE(offload);
    request.config["offload"] = offload;
    request.config["device_memory_budget"] = "1kB";
    const uint64_t least = engine().check(request).memory_plan.value().predicted_peak_bytes;
    const uint64_t budget = least + (uint64_t{64} << 20);
    request.config["device_memory_budget"] = std::to_string(budget);
    const Outcome moved = run(request);
    EXPECT_TRUE(moved.image.equal(resident.image));
    EXPECT_LE(*moved.report.memory.tensor_peak_bytes, budget);
    EXPECT_THAT(moved.report.fallbacks, ::testing::IsEmpty());
  }
}

class CudaFamily : public Cuda, public ::testing::WithParamInterface<GoldenCase> {};

TEST_P(CudaFamily, GivesTheReferencesImageAtEveryLevel) {
  for (const char* level : {"eager", "kernel_override", "compile"}) {
    const Json record = golden_parity(GetParam(), {"cuda", level, "fp32"});
    EXPECT_TRUE(record["passed"].get<bool>()) << record;
  }
}

TEST_P(CudaFamily, GivesTheReferencesImageInHalfTypes) {
  for (const char* dtype : {"bf16", "fp16"}) {
    const Json record = golden_parity(GetParam(), {"cuda", "compile", dtype});
    EXPECT_TRUE(record["passed"].get<bool>()) << record;
  }
}

INSTANTIATE_TEST_SUITE_P(Tiny, CudaFamily, ::testing::ValuesIn(one_of_each_model()),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           std::ranges::replace(name, '/', '_');
                           return name;
                         });

}  // namespace
}  // namespace omnirt::testing
