// Each scheduler that an entry supports has a whole run of its family that is compared with the
// reference's (tools/goldens/scheduler_runs.py, and the goldens of other scripts).
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/python_json.hpp"
#include "catalogue/support.hpp"
#include "io/file.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;

std::vector<std::string> models() {
  std::vector<std::string> names;
  for (const std::string& file : names_in(source_path("tests/goldens/scheduler_runs")))
    names.push_back(fs::path(file).stem().string());
  return names;
}

std::map<std::string, Tensor> runs_of(const std::string& model) {
  return read_tensors(source_path("tests/goldens/scheduler_runs/" + model + ".safetensors"));
}

class SchedulerRuns : public ::testing::TestWithParam<std::string> {};

TEST_P(SchedulerRuns, EndAtTheReferencesLatents) {
  for (const auto& [scheduler, expected] : runs_of(GetParam())) {
    GenerateRequest request = golden_request(GetParam() + "/text2image");
    request.config.update({{"scheduler", scheduler}, {"num_inference_steps", 4}});
    const Tensor made = run(request).latents_after.back();
    const double peak = (expected.max() - expected.min()).item<double>();
    EXPECT_GT(psnr(made, expected, peak), 60) << scheduler;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, SchedulerRuns, ::testing::ValuesIn(models()),
                         [](const auto& info) { return info.param; });

// The scheduler of a golden run's request, or its model's own; "" where there is neither.
std::string scheduler_of(const GenerateRequest& request) {
  const Json given = request.config.value("scheduler", Json());
  if (given.is_string()) return given.get<std::string>();
  const fs::path file = fs::path(request.model) / "scheduler/scheduler_config.json";
  if (!fs::exists(file)) return "";
  return parse_python_json(io::read_file(file, size_t{1} << 20), file.string())
      .value("_class_name", "");
}

// By pipeline class.
std::map<std::string, std::set<std::string>> compared_schedulers() {
  std::map<std::string, std::set<std::string>> compared;
  for (const auto& entry : fs::recursive_directory_iterator(source_path("tests/goldens"))) {
    if (entry.path().filename() != "request.json") continue;
    if (const Json flat = read_json_file(entry.path()); !flat.contains("model")) {
      // Those of the small Stable Diffusion model (tools/goldens/emoji_sd.py).
      const Family* family = engine().catalogue().family_of_class("StableDiffusionPipeline");
      compared[family->name].insert(flat.value("scheduler", ""));
      continue;
    }
    GenerateRequest request = folder_request(entry.path().parent_path());
    if (!fs::exists(request.model)) request.model = source_path("models/" + request.model);
    for (const char* index : {"model_index.json", "modular_model_index.json"}) {
      const fs::path file = fs::path(request.model) / index;
      if (!fs::exists(file)) continue;
      const std::string name = read_json_file(file).value("_class_name", "");
      if (const Family* family = engine().catalogue().family_of_class(name))
        compared[family->name].insert(scheduler_of(request));
    }
  }
  for (const std::string& model : models()) {
    const GenerateRequest request = golden_request(model + "/text2image");
    const Proposal proposal = engine().check(request);
    for (const auto& [scheduler, latents] : runs_of(model))
      compared[proposal.family->name].insert(scheduler);
  }
  return compared;
}

TEST(SupportedSchedulers, AreThoseOfRunsThatAreCompared) {
  const auto compared = compared_schedulers();
  for (const Family& family : engine().catalogue().families) {
    for (const ModelSpec& entry : family.entries) {
      for (const std::string& name : entry.supported_schedulers) {
        // FLUX.3's pipeline makes its scheduler by itself.
        const Json& usual = family.usual_scheduler;
        const bool own = usual.is_object() && usual.value("_class_name", "") == name;
        EXPECT_TRUE(own ||
                    (compared.contains(family.name) && compared.at(family.name).contains(name)))
            << entry.id << ": " << name;
      }
    }
  }
}

}  // namespace
}  // namespace omnirt::testing
