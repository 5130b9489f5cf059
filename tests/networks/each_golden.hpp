#pragma once
#include <gtest/gtest.h>

#include <functional>

#include "backends/cpu/kernels.hpp"
#include "networks/support.hpp"

// Networks whose calls are more than one prediction, against their goldens.
namespace omnirt::testing {

using Call = std::function<Tensor(Context&)>;

// A dry forward calls the same ops with the same shapes as the real one.
inline void expect_same_when_dry(const LoadedNetwork& loaded, const Call& run) {
  std::vector<OpRecord> real_trace, dry_trace;
  Context real = loaded.context({.trace = &real_trace});
  Context dry = loaded.context({.dry = true, .trace = &dry_trace});
  Tensor expected = run(real), actual = run(dry);
  EXPECT_EQ(actual.sizes(), expected.sizes());
  EXPECT_EQ(actual.scalar_type(), expected.scalar_type());
  ASSERT_EQ(dry_trace.size(), real_trace.size());
  for (size_t i = 0; i < dry_trace.size(); ++i) {
    EXPECT_EQ(dry_trace[i].op, real_trace[i].op);
    EXPECT_EQ(dry_trace[i].output, real_trace[i].output) << dry_trace[i].op;
  }
}

// By the references and by the processor's kernels, in both orders of channels.
template <class Check>
void each_golden(const std::string& case_prefix, const std::string& file_prefix, Check check) {
  size_t checked = 0;
  for (const std::string& name : cases(case_prefix)) {
    for (bool compiled : {false, true}) {
      for (bool channels_last : {false, true}) {
        LoadedNetwork loaded = load_case(name, {at::kFloat, channels_last});
        if (compiled) cpu::add_kernels(loaded.ops);
        for (const std::string& file : files(name, file_prefix)) {
          SCOPED_TRACE(name + "/" + file + (channels_last ? ", channels-last" : "") +
                       (compiled ? ", compiled" : ""));
          check(loaded, golden(name, file));
          ++checked;
        }
      }
    }
  }
  EXPECT_GT(checked, 0U);
}

}  // namespace omnirt::testing
