// All pairs of workflow, scheduler, guider, adapter and control, against diffusers where it can do
// them (tools/goldens/pairs.py makes the cases and says which are left out, and why).
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "catalogue/support.hpp"
#include "io/file.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;

// Both images are rounded to 8 bits, so that a difference of 60 dB is one value in fifteen that
// was rounded the other way.
constexpr double floor_db = 60;
constexpr size_t groups = 8;

const fs::path& folder() {
  static const fs::path path = source_path("tests/goldens/pairs");
  return path;
}

const Json& document() {
  static const Json json =
      parse_json(io::read_file(folder() / "cases.json", 4 << 20), "cases.json");
  return json;
}

// {3, H, W} of a case.
Tensor golden_picture(size_t index) {
  static std::map<size_t, Tensor> files;
  auto a_file = document()["a_file"].get<size_t>();
  auto [file, fresh] = files.try_emplace(index / a_file);
  if (fresh) {
    fs::path path = folder() / ("pictures_" + std::to_string(index / a_file) + ".safetensors");
    file->second = read_tensors(path).at("pictures");
  }
  return file->second[static_cast<int64_t>(index % a_file)];
}

// Paths of a case are relative to the folder: every text that names a file or folder there.
void place(Json& value) {
  if (value.is_structured()) {
    for (Json& item : value) place(item);
  } else if (value.is_string() && !value.get<std::string>().empty()) {
    fs::path path = folder() / value.get<std::string>();
    if (fs::exists(path)) value = path.string();
  }
}

GenerateRequest request_of(const Json& json) {
  GenerateRequest request = parse_request(json);
  request.model = (folder() / request.model).string();
  for (Json* field : {&request.inputs, &request.components, &request.adapters}) place(*field);
  return request;
}

class Pairs : public ::testing::TestWithParam<size_t> {};

TEST_P(Pairs, GiveTheReferencesImages) {
  const Json& cases = document()["cases"];
  for (size_t i = GetParam(); i < cases.size(); i += groups) {
    SCOPED_TRACE(cases[i]["of"].dump());
    Outcome outcome;
    ASSERT_NO_THROW(outcome = run(request_of(cases[i]["request"]))) << "case " << i;
    ASSERT_TRUE(outcome.image.isfinite().all().item<bool>()) << "case " << i;
    if (cases[i].contains("no_picture")) continue;
    Tensor bytes = (outcome.image[0] * 255).round();
    EXPECT_GT(psnr(bytes, golden_picture(i), 255), floor_db) << "case " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Pairs, ::testing::Range(size_t{0}, groups));

bool matches(const Json& when, const Json& of) {
  for (const auto& [factor, values] : when.items()) {
    if (std::ranges::find(values, of[factor]) == values.end()) return false;
  }
  return true;
}

// Whether the exclusions leave nothing that has both values.
bool left_out(const Json& pair) {
  for (const Json& rule : document()["exclusions"]) {
    bool named = true;
    for (const auto& [factor, values] : rule["when"].items()) {
      named =
          named && pair.contains(factor) && std::ranges::find(values, pair[factor]) != values.end();
    }
    if (named) return true;
  }
  return false;
}

TEST(PairsCovering, HoldsEveryPairThatIsNotLeftOutWithAReason) {
  const Json& factors = document()["factors"];
  const Json& cases = document()["cases"];
  EXPECT_GE(cases.size(), 300u);
  for (const Json& rule : document()["exclusions"]) EXPECT_FALSE(rule["reason"].empty());
  std::set<std::string> held;
  for (const Json& one : cases) {
    for (const auto& [a, x] : one["of"].items()) {
      for (const auto& [b, y] : one["of"].items()) held.insert(Json{{a, x}, {b, y}}.dump());
    }
    for (const Json& rule : document()["exclusions"])
      EXPECT_FALSE(matches(rule["when"], one["of"])) << one["of"].dump();
  }
  for (const auto& [a, some] : factors.items()) {
    for (const auto& [b, others] : factors.items()) {
      if (a >= b) continue;
      for (const Json& x : some) {
        for (const Json& y : others) {
          Json pair{{a, x}, {b, y}};
          EXPECT_TRUE(held.contains(pair.dump()) || left_out(pair)) << pair.dump();
        }
      }
    }
  }
}

}  // namespace
}  // namespace omnirt::testing
