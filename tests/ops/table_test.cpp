// What runs over all ops.
#include <set>

#include "ops/support.hpp"

namespace omnirt::testing {
namespace {

TEST(OpTable, IsVisitedWhole) {
  ops::OpTable table;
  size_t bytes = 0;
  std::set<std::string> names;
  ops::OpTable::visit(table, [&]<class Args>(const ops::Op<Args>& op) {
    bytes += sizeof op;
    names.insert(Args::name);
  });
  EXPECT_EQ(bytes, sizeof table);
  EXPECT_EQ(names.size(), ops::list_ops().size());
  for (const ops::OpInfo& op : ops::list_ops()) {
    EXPECT_TRUE(names.contains(op.name)) << op.name;
    EXPECT_FALSE(op.summary.empty()) << op.name;
  }
}

}  // namespace
}  // namespace omnirt::testing
