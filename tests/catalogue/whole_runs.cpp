#include "catalogue/whole_runs.hpp"

#include <gtest/gtest.h>

namespace omnirt::testing {

void expect_the_same_in_batches_of_any_size(const GenerateRequest& whole) {
  const Tensor together = run(whole).image;
  for (int64_t rows : {1, 3}) {
    GenerateRequest request = whole;
    request.config.update({{"max_batch_rows", rows}, {"level", "eager"}});
    EXPECT_GT(psnr(run(request).image, together, 1), 60) << rows;
  }
}

void expect_the_same_after_any_cut(const GenerateRequest& whole) {
  const TemporaryFolder folder;
  const Tensor expected = run(whole).image;
  const Plan plan = engine().check(whole).plan;
  for (size_t i = 0; i + 1 < plan.blocks.size(); ++i) {
    SCOPED_TRACE(plan.blocks[i]->name());
    GenerateRequest first = whole, second;
    first.config.update({{"stop_after", plan.blocks[i]->name()}, {"state", folder.file("state")}});
    RunReport report;
    engine().run(first, {}, {}, report);
    second.config["resume"] = folder.file("state");
    const Outcome parts = run(second);
    if (parts.image.defined()) EXPECT_TRUE(parts.image.equal(expected));
  }
}

}  // namespace omnirt::testing
