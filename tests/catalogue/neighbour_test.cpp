// Memory that another takes between two runs of one engine: the next run is planned anew.
#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.hpp"
#include "catalogue/catalogue.hpp"
#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {

GenerateRequest small_request(const Json& config = Json::object()) {
  GenerateRequest request;
  request.model = source_path("models/emoji").string();
  request.task = "text2image";
  request.inputs["prompt"] = "red apple";
  request.config = {{"width", 64}, {"height", 64}, {"seed", 1}, {"num_inference_steps", 2}};
  request.config.update(config);
  return request;
}

uint64_t predicted(Engine& engine, const Json& config) {
  return engine.check(small_request(config)).memory_plan.value().predicted_peak_bytes;
}

bool all_stays(const std::optional<MemoryPlanReport>& plan) {
  return std::ranges::all_of(plan.value().components, [](const PlannedComponentReport& each) {
    return each.offload == Offload::none;
  });
}

TEST(Neighbour, InTheSameProcessLeadsToAnotherPlanUnderTheSameBudget) {
  Engine own(builtin_catalogue());
  constexpr uint64_t slack = uint64_t{8} << 20;
  // Libraries have set themselves up, and no packed weights of an unlimited run are left.
  run_on(own, small_request({{"offload", "none"}}));
  const uint64_t whole = predicted(own, {{"offload", "none"}});
  const uint64_t least = predicted(own, {{"memory_budget", "1MB"}});
  ASSERT_LT(least + 2 * slack, whole);
  const GenerateRequest request = small_request({{"memory_budget", std::to_string(whole + slack)}});
  const Outcome alone = run_on(own, request);
  EXPECT_TRUE(all_stays(alone.report.memory.plan));
  {
    const std::vector<char> neighbour((whole - least) / 2 + 2 * slack, 'x');
    const Outcome crowded = run_on(own, request);
    EXPECT_FALSE(all_stays(crowded.report.memory.plan)) << neighbour.size();
    EXPECT_TRUE(crowded.image.equal(alone.image));
  }
  EXPECT_TRUE(all_stays(run_on(own, request).report.memory.plan));
}

TEST(Neighbour, ThatLeavesTooLittleIsAFindingNotACrash) {
  Engine own(builtin_catalogue());
  run_on(own, small_request());
  const uint64_t whole = predicted(own, {{"offload", "none"}});
  const GenerateRequest request = small_request({{"memory_budget", std::to_string(whole)}});
  const std::vector<char> neighbour(whole, 'x');
  const Proposal proposal = own.check(request);
  ASSERT_EQ(proposal.errors.size(), 1u) << neighbour.size();
  EXPECT_EQ(proposal.errors[0].field, "config.memory_budget");
  RunReport report;
  EXPECT_THROW(own.run(request, {}, {}, report), InvalidRequest);
}

// The processor on a machine whose free memory others take.
double free_gb = 64;
class CrowdedBackend final : public Backend {
 public:
  std::string name() const override { return "cpu"; }
  at::Device device() const override { return at::kCPU; }
  Availability is_available() const noexcept override { return cpu_.is_available(); }
  Capabilities capabilities() const override { return cpu_.capabilities(); }
  void prepare(const RunFacts& run) override { cpu_.prepare(run); }
  LevelPlan compile(const std::string& component, const std::string& tag,
                    const PlanFacts& facts) override {
    return cpu_.compile(component, tag, facts);
  }
  LevelPlan plan(Level level, const std::string& component, const std::string& tag,
                 const PlanFacts& facts) override {
    return cpu_.plan(level, component, tag, facts);
  }
  ComputeForm compute_form(Level level, const PlanFacts& facts) const override {
    return cpu_.compute_form(level, facts);
  }
  void reset_memory_stats() override { cpu_.reset_memory_stats(); }
  MemoryStats memory_stats() const override { return cpu_.memory_stats(); }
  double available_memory_gb() const override { return free_gb; }

 private:
  CpuBackend cpu_;
};

TEST(Neighbour, InAnotherProcessLeadsToAPlanWhereNoBudgetWasGiven) {
  Catalogue catalogue = builtin_catalogue();
  for (BackendInfo& info : catalogue.backends) {
    if (info.name == "cpu") info.make = [](int) { return std::make_unique<CrowdedBackend>(); };
  }
  Engine own(std::move(catalogue));
  free_gb = 64;
  const Outcome alone = run_on(own, small_request());
  EXPECT_FALSE(alone.report.memory.plan);
  free_gb = 0.01;
  const Outcome crowded = run_on(own, small_request());
  ASSERT_TRUE(crowded.report.memory.plan);
  EXPECT_FALSE(all_stays(crowded.report.memory.plan));
  EXPECT_TRUE(crowded.image.equal(alone.image));
  free_gb = 64;
  EXPECT_FALSE(run_on(own, small_request()).report.memory.plan);
}

}  // namespace
}  // namespace omnirt::testing
