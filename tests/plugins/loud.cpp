// Says on standard error that it was loaded, from a constructor: before anything of it is called.
#include <unistd.h>

#include "pipeline/plugin.hpp"

namespace {

struct Loud {
  Loud() {
    constexpr char words[] = "the constructor of a library ran\n";
    if (write(STDERR_FILENO, words, sizeof words - 1) < 0) return;
  }
} loud;

}  // namespace

extern "C" omnirt::Plugin omnirt_plugin() {
  return {.name = "loud", .add = [](omnirt::Catalogue&) {}};
}
