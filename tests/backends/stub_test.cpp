// The stub's scripts reach every op, and are refused where they could never come true.
#include "backends/stub/stub_backend.hpp"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/samples/sampler.hpp"

namespace omnirt::testing {
namespace {
using ::testing::HasSubstr;

struct Failures final : ops::Caller {
  std::vector<std::string> reasons;
  bool dry() const override { return false; }
  void kernel_failed(const char* op, const std::string&, const char* reason) override {
    reasons.push_back(std::string(op) + ": " + reason);
  }
  void on_op(const char*, const ops::Shape&) override {}
  void on_computed(const char*) override {}
};

TEST(StubBackend, FailsEachOpThatItsScriptNamesAndNoOther) {
  for (const ops::OpInfo& failing : ops::list_ops()) {
    StubScript script;
    script.fail.push_back({.op = failing.name});
    StubBackend stub(script);
    LevelPlan plan = stub.plan(Level::compile, "unet", "Network", {});
    Failures told;
    ops::OpTable::visit(*plan.ops, [&]<class Args>(const ops::Op<Args>& op) {
      ops::Sampler make({});
      Args::samples().front().with(make, [&](const Args& args) { op(told, args); });
    });
    EXPECT_THAT(told.reasons, ::testing::Not(::testing::IsEmpty())) << failing.name;
    EXPECT_THAT(told.reasons, ::testing::Each(failing.name + ": scripted"));
  }
}

std::string refusal_of(const std::string& script) {
  try {
    parse_stub_script(script);
  } catch (const InvalidRequest& refused) {
    return refused.what();
  }
  return "taken";
}

TEST(StubScript, NamesAnOpThatThereIs) {
  EXPECT_THAT(refusal_of(R"({"fail": [{"op": "atention"}]})"),
              ::testing::AllOf(HasSubstr("atention"), HasSubstr("attention")));
  EXPECT_EQ(refusal_of(R"({"fail": [{"op": "swap_rows"}]})"), "taken");
}

TEST(StubScript, FailsNoReferences) {
  EXPECT_THAT(refusal_of(R"({"fail": [{"op": "linear", "level": "eager"}]})"),
              HasSubstr("references"));
  EXPECT_EQ(refusal_of(R"({"fail": [{"level": "eager", "call": 2}]})"), "taken");
}

}  // namespace
}  // namespace omnirt::testing
