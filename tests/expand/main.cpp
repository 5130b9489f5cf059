#include <cstdio>
#include <exception>

#include "expand/expand.hpp"

// expand_goldens FROM TO
int main(int count, char** arguments) {
  if (count != 3) {
    std::fputs("usage: expand_goldens FROM TO\n", stderr);
    return 2;
  }
  try {
    const auto done = omnirt::testing::expand_goldens(arguments[1], arguments[2]);
    std::printf("%zu goldens, %zu written\n", done.files, done.written);
    for (const auto& name : done.kept)
      std::printf("%s/%s is newer than tests/goldens: run tools/goldens/pack.py or remove it\n",
                  arguments[2], name.c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "expand_goldens: %s\n", error.what());
    return 1;
  }
}
