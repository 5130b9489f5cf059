#include "ops/op_table.hpp"

namespace omnirt::ops {

std::vector<OpInfo> list_ops() {
  std::vector<OpInfo> all;
  const OpTable table;
  OpTable::visit(table, [&]<class Args>(const Op<Args>&) {
    all.push_back({Args::name, Args::summary});
  });
  return all;
}

}  // namespace omnirt::ops
