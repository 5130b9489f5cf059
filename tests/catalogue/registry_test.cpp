// What registry entries and folders say of a model, as a request meets it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "catalogue/catalogue.hpp"
#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

// A variable of the environment while this lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST(DefaultBackend, OfAnEntryRunsRequestsThatNameNone) {
  Catalogue catalogue = builtin_catalogue();
  for (const Family& family : catalogue.families)
    for (const ModelSpec& entry : family.entries) EXPECT_EQ(entry.default_backend, "auto");
  GenerateRequest request = golden_request("sd15/text2image");
  EXPECT_NE(validate(catalogue, request).device.backend, "cpu-stub");
  for (Family& family : catalogue.families)
    for (ModelSpec& entry : family.entries) entry.default_backend = "cpu-stub";
  EXPECT_EQ(validate(catalogue, request).device.backend, "cpu-stub");
  request.backend = "cpu";
  EXPECT_EQ(validate(catalogue, request).device.backend, "cpu");
}

std::vector<Finding> warnings_with(const std::string& stub) {
  Variable script("OMNIRT_STUB", stub);
  GenerateRequest request = golden_request("sd15/text2image");
  request.backend = "cpu-stub";
  return validate(engine().catalogue(), request).warnings;
}

TEST(ResourceHint, WarnsOfLessFreeMemory) {
  const char* machine = R"({"memory": {"peak_bytes": 0, "allocated_bytes": 0, "available_gb": 0}})";
  EXPECT_THAT(warnings_with(machine), about("model", "of the machine's memory"));
  EXPECT_THAT(warnings_with(R"({"devices": [{"bytes": 1}]})"),
              about("model", "of the device's memory"));
  EXPECT_THAT(warnings_with(R"({"devices": [{"bytes": 100000000000}]})"), Not(about("model")));
}

// The adapter's file that validation settles on.
std::string adapter_of(const std::string& named) {
  GenerateRequest request = golden_request("sd15/text2image");
  request.adapters = {{{"path", named}}};
  const Proposal proposal = engine().check(request);
  if (!proposal.ok()) return proposal.errors.front().text();
  return proposal.adapters.at(0).file->path.string();
}

TEST(Adapters, AreFoundByNameInTheFoldersOfModels) {
  TemporaryFolder models;
  fs::create_directories(models.path() / "loras");
  const fs::path file = models.path() / "loras/style.safetensors";
  fs::copy_file(source_path("tests/goldens/adapters/files/kohya.safetensors"), file);
  EXPECT_THAT(adapter_of("style"), HasSubstr("no such adapter"));
  Variable folders("OMNIRT_MODELS", models.path().string());
  for (const char* name : {"style", "style.safetensors"})
    EXPECT_EQ(adapter_of(name), file.string());
}

TEST(Adapters, AreFoundInTheCacheOfTheHub) {
  TemporaryFolder cache;
  const fs::path folder = cache.path() / "models--someone--style";
  fs::create_directories(folder / "snapshots/abc");
  fs::create_directories(folder / "refs");
  std::ofstream(folder / "refs/main") << "abc";
  const fs::path file = folder / "snapshots/abc/style.safetensors";
  fs::copy_file(source_path("tests/goldens/adapters/files/kohya.safetensors"), file);
  EXPECT_THAT(adapter_of("someone/style"), HasSubstr("no such adapter"));
  Variable place("HF_HUB_CACHE", cache.path().string());
  for (const char* name : {"someone/style", "someone/style/style.safetensors"})
    EXPECT_EQ(adapter_of(name), file.string());
}

TEST(Task, ThatIsUnknownIsAnsweredWithOneOfTheModel) {
  GenerateRequest request = golden_request("sd15/text2image");
  for (const char* task : {"text2vid", "text2imag", "txt2img"}) {
    request.task = task;
    const Proposal proposal = engine().check(request);
    ASSERT_FALSE(proposal.ok());
    EXPECT_THAT(proposal.errors.front().way_out, HasSubstr("text2image")) << task;
    EXPECT_THAT(proposal.errors.front().way_out, Not(HasSubstr("video"))) << task;
  }
}

// docs/families.md has a row of each family and task that requests can ask for.
TEST(FamiliesPage, HasARowOfEachTaskOfEachFamily) {
  std::ifstream page(source_path("docs/families.md"));
  std::vector<std::pair<std::string, std::string>> rows;
  for (std::string line; std::getline(page, line);) {
    std::istringstream cells(line);
    std::string none, family, tasks;
    std::getline(cells, none, '|');
    std::getline(cells, family, '|');
    std::getline(cells, tasks, '|');
    rows.emplace_back(family, tasks);
  }
  for (const Family& family : engine().catalogue().families) {
    const std::string name = family.name == "z_image_omni" ? "z_image (Omni)" : family.name;
    for (const TaskInputs& task : family.tasks) {
      const bool there = std::ranges::any_of(rows, [&](const auto& row) {
        return row.first.starts_with(" " + name + " ") &&
               row.second.find(task.task) != std::string::npos;
      });
      EXPECT_TRUE(there) << name << " " << task.task;
    }
  }
}

}  // namespace
}  // namespace omnirt::testing
