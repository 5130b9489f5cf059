// docs/adding-a-backend.md shows this code: what it shows is what is compiled and run here.
#include "backends/example_backend.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "backends/contract.hpp"
#include "io/file.hpp"
#include "source_paths.hpp"

namespace omnirt::testing {
namespace {

std::string source(const std::string& relative) {
  return io::read_file(source_path(relative), 1 << 20);
}

TEST(AddingABackend, ShowsCodeThatIsCompiledAndTested) {
  std::string page = source("docs/adding-a-backend.md");
  std::string code =
      source("tests/backends/example_backend.hpp") + source("tests/backends/example_backend.cpp");
  const std::string open = "```cpp\n", close = "```";
  int shown = 0;
  for (size_t at = 0; (at = page.find(open, at)) != std::string::npos; ++shown) {
    size_t begin = at + open.size(), end = page.find(close, begin);
    std::string block = page.substr(begin, end - begin);
    EXPECT_NE(code.find(block), std::string::npos) << "not in example_backend.*:\n" << block;
    at = end;
  }
  EXPECT_GE(shown, 4);
}

TEST(AddingABackend, TheExamplesKernelServesWhatItTakes) {
  ExampleBackend backend;
  backend.prepare({});
  auto plan = backend.plan(Level::kernel_override, "probe", "ProbeNetwork", {});
  ASSERT_EQ(plan.ops->linear.kernels().size(), 1u);
  Tensor x = ProbeNetwork::input(1, 4), weight = x.view({16, 4}),
         bias = x.view({64}).slice(0, 0, 16);
  ops::Linear args{.x = x, .weight = weight, .bias = &bias};
  EXPECT_TRUE(plan.ops->linear.kernels()[0].accepts(args));
  EXPECT_TRUE(
      plan.ops->linear.kernels()[0].run(args).allclose(ops::Linear::reference(args), 1e-5, 1e-6));
  args.residual = &bias;
  EXPECT_FALSE(plan.ops->linear.kernels()[0].accepts(args));
}

}  // namespace
}  // namespace omnirt::testing
