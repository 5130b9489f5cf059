// What represents no prompt is known by what the guider declares, not by its name.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "catalogue/catalogue.hpp"
#include "catalogue/support.hpp"
#include "guiders/classifier_free_guidance.hpp"

namespace omnirt::testing {
namespace {

// Classifier-free guidance with another name for the condition without the prompt.
class Renamed final : public Guider {
 public:
  explicit Renamed(std::unique_ptr<Guider> cfg) : cfg_(std::move(cfg)) {}
  std::string name() const override { return "renamed"; }
  std::vector<Condition> conditions() const override {
    std::vector<Condition> all = cfg_->conditions();
    for (Condition& condition : all) condition.name = renamed(condition.name);
    return all;
  }
  std::vector<std::string> active(const GuidanceStep& step) const override {
    std::vector<std::string> names = cfg_->active(step);
    for (std::string& name : names) name = renamed(name);
    return names;
  }
  Tensor combine(const Predictions& predictions, GuidanceStep& step) const override {
    Predictions by_name;
    for (const auto& [name, prediction] : predictions)
      by_name[name == "without" ? "uncond" : name] = prediction;
    return cfg_->combine(by_name, step);
  }

 private:
  static std::string renamed(const std::string& name) {
    return name == "uncond" ? "without" : name;
  }
  std::unique_ptr<Guider> cfg_;
};

Engine& renaming_engine() {
  static Engine engine = [] {
    Catalogue catalogue = builtin_catalogue();
    GuiderInfo info = *catalogue.find_guider("cfg");
    info.type = "renamed";
    info.make = [make = info.make](const Json& config) -> std::unique_ptr<Guider> {
      return std::make_unique<Renamed>(make(config));
    };
    catalogue.guiders.push_back(info);
    return Engine(std::move(catalogue));
  }();
  return engine;
}

TEST(NegativeConditions, AreKnownToControlNetsAndIPAdaptersWhateverTheirName) {
  for (const char* name :
       {"controlnet_guess", "controlnet_two_guess", "ip_base", "controlnet_ip"}) {
    GenerateRequest request =
        folder_request(source_path("tests/goldens/control/sd15/" + std::string(name)));
    Tensor expected = run(request).image;
    request.guider = {{"type", "renamed"}};
    if (request.config.contains("guidance_scale"))
      request.guider["guidance_scale"] = request.config["guidance_scale"];
    request.config.erase("guidance_scale");
    EXPECT_TRUE(run_on(renaming_engine(), request).image.equal(expected)) << name;
  }
}

// Images of one prompt, and windows, share what is made of it.
TEST(KeptBetweenSteps, IsTheSameForAWindowedImageAsForOneOfAWindowsSize) {
  GenerateRequest request = folder_request(source_path("tests/goldens/pipelines/sd15/text2image"));
  for (const char* key : {"width", "height"}) request.config[key] = 64;
  request.config["num_inference_steps"] = 2;
  uint64_t one = run(request).report.memory.kept_between_steps_bytes;
  for (const char* key : {"width", "height"}) request.config[key] = 160;
  request.config["window_size"] = 64;
  uint64_t many = run(request).report.memory.kept_between_steps_bytes;
  EXPECT_GT(one, 0u);
  EXPECT_EQ(many, one);
}

}  // namespace
}  // namespace omnirt::testing
