// What the levels of the cpu backend promise of a whole run: the image, the memory, and what the
// report says of both.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "backends/cpu/simd/target.hpp"
#include "base/error.hpp"
#include "catalogue/catalogue.hpp"
#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

GenerateRequest emoji(const Json& config = Json::object()) {
  GenerateRequest request;
  request.model = "emoji-sd";
  request.inputs["prompt"] = "a red apple";
  request.config = {{"seed", 3}, {"num_inference_steps", 4}};
  request.config.update(config);
  return request;
}

const AttemptReport& selected(const RunReport& report, const std::string& component) {
  for (const TimelineReport& entry : report.backend_timeline) {
    if (entry.component != component) continue;
    for (const AttemptReport& attempt : entry.attempts) {
      if (attempt.selected) return attempt;
    }
  }
  throw InternalError("no level of " + component);
}

TEST(CpuLevels, CompileIsWhatARunTakes) {
  Outcome outcome = run(emoji());
  for (const char* component : {"text_encoder", "unet", "vae"})
    EXPECT_EQ(selected(outcome.report, component).level, "compile");
  EXPECT_TRUE(outcome.report.fallbacks.empty());
}

TEST(CpuLevels, TheTimelineNamesTheTargetThatServes) {
  EXPECT_THAT(selected(run(emoji()).report, "unet").reason,
              StartsWith(cpu::targets().used + " kernels"));
}

TEST(CpuLevels, GiveTheSameImageButForTheOrderOfAdditions) {
  Tensor eager = run(emoji({{"level", "eager"}})).image;
  EXPECT_GT(psnr(run(emoji({{"level", "compile"}})).image, eager, 1.0), 70);
  EXPECT_GT(psnr(run(emoji({{"level", "kernel_override"}})).image, eager, 1.0), 70);
}

// Sixteen bits of each number's twenty-four: far below what an image shows. Where the processor
// has no unit for it, both are the same.
TEST(CpuLevels, HighPrecisionIsTheHighestOnesImage) {
  Outcome high = run(emoji()), highest = run(emoji({{"matmul_precision", "highest"}}));
  EXPECT_GT(psnr(high.image, highest.image, 1.0), 70);
  std::string reason = selected(high.report, "unet").reason;
  EXPECT_EQ(reason.find("AMX") == std::string::npos, high.image.equal(highest.image)) << reason;
  EXPECT_EQ(selected(highest.report, "unet").reason.find("AMX"), std::string::npos);
}

// Eight bits of each number in linear layers, where the processor has an instruction for it; near
// enough for the eye.
TEST(CpuLevels, MediumPrecisionIsNearTheHighestOnesImage) {
  Outcome medium = run(emoji({{"matmul_precision", "medium"}}));
  Outcome highest = run(emoji({{"matmul_precision", "highest"}}));
  EXPECT_GT(psnr(medium.image, highest.image, 1.0), 57);  // 62 by AVX512-BF16, and a margin of 5
  std::string reason = selected(medium.report, "unet").reason;
  if (reason.find("rounded to bf16") == std::string::npos &&
      reason.find("AMX") == std::string::npos) {
    EXPECT_TRUE(medium.image.equal(highest.image)) << reason;
  }
}

TEST(CpuLevels, PackedFormsDoNotChangeTheBits) {
  Engine fresh(builtin_catalogue());
  Outcome never = run_on(fresh, emoji({{"pack", "never"}}));
  Outcome always = run(emoji({{"pack", "always"}}));
  EXPECT_TRUE(never.image.equal(run(emoji()).image));
  EXPECT_TRUE(never.image.equal(always.image));
  EXPECT_EQ(never.report.memory.weights_packed_bytes, 0u);
  EXPECT_GT(always.report.memory.weights_packed_bytes, 0u);
}

TEST(CpuLevels, NoCopyOfTheWeightsIsMadeAtCompile) {
  Engine fresh(builtin_catalogue());
  Outcome outcome = run_on(fresh, emoji({{"level", "compile"}}));
  // What is widened is the vectors: biases and the weights of norms.
  EXPECT_LT(outcome.report.memory.weights_converted_bytes * 20,
            outcome.report.memory.weights_stored_bytes);
}

TEST(CpuLevels, Int8RoundsTheWeightsAndSaysSo) {
  Outcome exact = run(emoji()), rounded = run(emoji({{"quantize", "int8"}}));
  EXPECT_THAT(selected(rounded.report, "unet").reason, HasSubstr("int8"));
  EXPECT_GT(rounded.report.memory.weights_packed_bytes, 0u);
  double db = psnr(rounded.image, exact.image, 1.0);
  EXPECT_GT(db, 40);  // 43.7 to 45.9 by sse4, avx2 and avx512_vnni
  EXPECT_LT(db, 60);
}

TEST(CpuLevels, Int8IsNeverLeftAsideInSilence) {
  try {
    run(emoji({{"quantize", "int8"}, {"level", "eager"}}));
    FAIL() << "went on without rounding";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("config.quantize"));
  }
}

TEST(CpuLevels, Bf16IsProductsOfRoundedNumbersAndTheTimelineSaysSo) {
  Outcome outcome = run(emoji({{"dtype", "bf16"}})), exact = run(emoji());
  EXPECT_EQ(selected(outcome.report, "unet").level, "compile");
  std::string reason = selected(outcome.report, "unet").reason;
  EXPECT_THAT(reason, HasSubstr("in fp32"));
  EXPECT_GT(psnr(outcome.image, exact.image, 1.0), 46);  // 51 by AVX512-BF16, and a margin of 5
  if (reason.find("rounded to bf16") == std::string::npos)
    EXPECT_GT(psnr(outcome.image, exact.image, 1.0), 70) << reason;
}

TEST(CpuLevels, Bf16GoesByTheReferencesAtEager) {
  Outcome outcome = run(emoji({{"dtype", "bf16"}, {"level", "eager"}}));
  EXPECT_EQ(selected(outcome.report, "unet").level, "eager");
  // 50.3 to 51.6 by oneDNN's kernels for SSE4.1, AVX2 and AVX-512, and a margin of 5.
  EXPECT_GT(psnr(outcome.image, run(emoji()).image, 1.0), 45);
}

// The dry forward takes and releases each tensor's place as the run does. What it does not see is
// the small tensors that kernels and the pipeline make for themselves (a norm's terms for each
// channel, guidance between two calls): 8 bytes of the embedded model's 14 MB, 25 KB at most here.
constexpr double unseen_bytes = 32 * 1024;

void expect_predicted(const GenerateRequest& request, const std::string& name) {
  Engine fresh(builtin_catalogue());
  fs::path folder = fs::temp_directory_path() / ("omnirt-predicted-" + std::to_string(::getpid()));
  GenerateRequest plain = request;
  plain.config["output_dir"] = folder.string();
  RunReport report;
  fresh.run(plain, {}, {}, report);  // without hooks, which hold tensors of their own
  fs::remove_all(folder);
  auto predicted = static_cast<double>(report.memory.predicted_tensor_peak_bytes);
  auto measured = static_cast<double>(report.memory.tensor_peak_bytes.value());
  EXPECT_GT(predicted, 0) << name;
  EXPECT_NEAR(predicted, measured, unseen_bytes) << name;
}

// Below `folder`, each folder that holds a request; there must be some.
void expect_all_predicted(const fs::path& folder) {
  size_t requests = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().filename() != "request.json") continue;
    ++requests;
    expect_predicted(folder_request(entry.path().parent_path()), entry.path().string());
  }
  EXPECT_GT(requests, 0u) << folder;
}

TEST(CpuLevels, TheMemoryPeakIsPredictedButForSmallTensors) {
  expect_predicted(emoji(), "emoji-sd");
  expect_predicted(emoji({{"num_images_per_prompt", 4}}), "emoji, four pictures");
  for (const char* folder : {"pipelines", "control", "videos", "step_cache", "block_cache"})
    expect_all_predicted(source_path("tests/goldens") / folder);
}

int64_t page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

TEST(CpuLevels, AWarmLoopTakesNoPageFaults) {
  run(emoji());
  std::vector<int64_t> after;
  RunHooks hooks;
  hooks.on_step = [&](const LoopProgress&, const Tensor&) { after.push_back(page_faults()); };
  RunReport report;
  GenerateRequest request = emoji({{"num_inference_steps", 12}});
  fs::path folder = fs::temp_directory_path() / "omnirt-page-faults";
  request.config["output_dir"] = folder.string();
  engine().run(request, {}, hooks, report);
  fs::remove_all(folder);
  ASSERT_EQ(after.size(), 12u);
  // A step of this model makes some hundred tensors; malloc's large blocks would fault thousands of
  // pages. A few are the C library's own.
  EXPECT_LT(after.back() - after[2], 9 * 8);
}

}  // namespace
}  // namespace omnirt::testing
