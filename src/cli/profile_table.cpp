#include "cli/profile_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/byte_size.hpp"
#include "base/printable.hpp"

namespace omnirt::cli {
namespace {

// Beyond these, rows are summed up: the report has them all.
constexpr size_t most_ops = 16;

std::string ops_table(const RunReport& report) {
  struct Sum {
    uint64_t calls = 0;
    double ms = 0;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Sum> sums;
  for (const ProfileRow& row : report.profile) {
    Sum& sum = sums[{row.component, row.op, row.by}];
    sum.calls += row.calls;
    sum.ms += row.ms;
  }
  std::vector<std::pair<std::tuple<std::string, std::string, std::string>, Sum>> rows(sums.begin(),
                                                                                      sums.end());
  std::ranges::stable_sort(rows, std::greater<>{}, [](const auto& row) { return row.second.ms; });
  std::string table = fmt::format("{:>10} {:>8}  op\n", "ms", "calls");
  Sum rest;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto& [names, sum] = rows[i];
    if (i >= most_ops) {
      rest.calls += sum.calls;
      rest.ms += sum.ms;
      continue;
    }
    table += fmt::format("{:>10.1f} {:>8}  {}: {} by {}\n", sum.ms, sum.calls,
                         printable(std::get<0>(names)), std::get<1>(names), std::get<2>(names));
  }
  if (rest.calls > 0) table += fmt::format("{:>10.1f} {:>8}  others\n", rest.ms, rest.calls);
  return table;
}

// Rows of the blocks that a network repeats are summed up, in the place of the first one.
struct BlockSum {
  BlockProfileRow row;
  size_t blocks = 1;
};

std::vector<BlockSum> block_sums(const RunReport& report) {
  std::vector<BlockSum> sums;
  for (const BlockProfileRow& row : report.block_profile) {
    auto known = std::ranges::find_if(sums, [&](const BlockSum& sum) {
      return !row.repeats.empty() && sum.row.component == row.component &&
             sum.row.repeats == row.repeats;
    });
    if (known == sums.end()) {
      sums.push_back({row});
      continue;
    }
    known->blocks += 1;
    known->row.calls += row.calls;
    known->row.ms += row.ms;
    known->row.waited_ms += row.waited_ms;
    known->row.moved_bytes += row.moved_bytes;
  }
  return sums;
}

std::string name_of(const BlockSum& sum) {
  if (sum.blocks > 1) return fmt::format("{} x {}", sum.blocks, printable(sum.row.repeats));
  return sum.row.block.empty() ? "outside of blocks" : printable(sum.row.block);
}

std::string blocks_table(const RunReport& report) {
  std::string table =
      fmt::format("{:>10} {:>10} {:>10} {:>8}  block\n", "ms", "waited ms", "read", "calls");
  for (const BlockSum& sum : block_sums(report)) {
    const BlockProfileRow& row = sum.row;
    table += fmt::format("{:>10.1f} {:>10.1f} {:>10} {:>8}  {}: {}\n", row.ms, row.waited_ms,
                         row.moved_bytes > 0 ? shown_byte_size(row.moved_bytes) : "-", row.calls,
                         printable(row.component), name_of(sum));
  }
  return table;
}

}  // namespace

std::string profile_tables(const RunReport& report) {
  std::string tables;
  if (!report.profile.empty()) tables += ops_table(report);
  if (!report.block_profile.empty()) tables += blocks_table(report);
  return tables;
}

}  // namespace omnirt::cli
