// The programs of docs/embedding.md are those that scripts/check_install builds and runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/file.hpp"
#include "source_paths.hpp"

namespace omnirt::testing {
namespace {
using ::testing::HasSubstr;

std::string text_of(const std::string& file) {
  return io::read_file(source_path(file), 1 << 20);
}

TEST(EmbeddingPage, HasTheProgramsThatAreTested) {
  const std::string page = text_of("docs/embedding.md");
  EXPECT_THAT(page, HasSubstr("```cpp\n" + text_of("tests/install/pixels.cpp") + "```"));
  EXPECT_THAT(page, HasSubstr("```c\n" + text_of("tests/install/pixels.c") + "```"));
  EXPECT_THAT(page, HasSubstr("```python\n" + text_of("tests/install/pixels.py") + "```"));
}

}  // namespace
}  // namespace omnirt::testing
