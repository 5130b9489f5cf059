// The guiders' formulas against diffusers' guiders, call by call (tools/goldens/guiders.py).
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "guiders/guider.hpp"
#include "io/file.hpp"
#include "io/safetensors.hpp"
#include "source_paths.hpp"
#include "tensor/weight.hpp"

namespace omnirt {
namespace {

using ::testing::UnorderedElementsAreArray;

// A few fp32 operations in another order; tcfg's reference decomposes in fp32 what is computed in
// double here.
constexpr double tolerance = 2e-5;

const std::string folder = source_path("tests/goldens/guiders/formulas/").string();

const Json& cases() {
  static const Json json =
      parse_json(io::read_file(folder + "cases.json", 1 << 20), folder + "cases.json");
  return json;
}

Tensor golden(const std::string& name) {
  static const auto opened = io::SafetensorsFile::open(folder + "golden.safetensors");
  for (const io::TensorEntry& entry : opened->entries()) {
    if (entry.name != name) continue;
    auto bytes = opened->data(entry);
    return Weight{entry.name,   entry.dtype,     entry.shape, bytes.data(),
                  bytes.size(), opened->owner(), {}}
        .view()
        .clone();
  }
  ADD_FAILURE() << name << " is not among the goldens";
  return at::zeros({4, 2, 3, 5, 4});
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const auto& [name, one] : cases()["cases"].items()) names.push_back(name);
  return names;
}

class GuiderGolden : public ::testing::TestWithParam<std::string> {};

TEST_P(GuiderGolden, AsksForAndCombinesWhatTheReferenceDoes) {
  const Json& one = cases()["cases"][GetParam()];
  Json settings = one["guider"];
  const GuiderInfo* info = find_guider(settings["type"].get<std::string>());
  ASSERT_TRUE(info);
  settings.erase("type");
  auto guider = info->make(settings);
  Tensor expected = golden("out." + GetParam());
  GuiderState state;
  auto steps = static_cast<size_t>(expected.size(0));
  for (size_t i = 0; i < steps; ++i) {
    auto index = static_cast<int64_t>(i);
    GuidanceStep step{.index = i,
                      .steps = steps,
                      .timestep = cases()["timesteps"][i].get<double>(),
                      .sigma = 1,
                      .state = &state};
    std::vector<std::string> active = guider->active(step);
    EXPECT_THAT(active, UnorderedElementsAreArray(one["asked"][i].get<std::vector<std::string>>()))
        << "call " << i;
    Predictions predictions;
    for (const std::string& name : active) predictions[name] = golden(name)[index];
    Tensor difference = (guider->combine(predictions, step) - expected[index]).abs().max();
    EXPECT_LT(difference.item<double>(), tolerance * expected.abs().max().item<double>())
        << "call " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(AllFormulas, GuiderGolden, ::testing::ValuesIn(names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace omnirt
