// Runs seeded inputs through the fuzz target: the same inputs on every machine.
//   fuzz_safetensors [count [first seed]]    `count` inputs
//   fuzz_safetensors FILE                    one input, as libFuzzer writes it
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "io/file.hpp"
#include "io/fuzz/mutate.hpp"
#include "io/fuzz/target.hpp"

namespace {

using namespace omnirt;

void run(uint8_t reader, const std::string& content) {
  // No byte more than the input, not even a string's last zero, so that one step too far is seen.
  std::vector<uint8_t> input{reader};
  input.reserve(1 + content.size());
  input.insert(input.end(), content.begin(), content.end());
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

// Each input has a generator of its own, so that one can be repeated alone.
void run_seeded(uint64_t seed) {
  fuzz::Random random(seed);
  static const auto files = [] {
    fuzz::Random first(0);
    return fuzz::safetensors_seeds(first);
  }();
  static const auto indexes = fuzz::index_seeds();
  if (random() % 8 == 0) {
    return run(fuzz::index_reader, fuzz::mutate_text(indexes[random() % indexes.size()], random));
  }
  // Files on the disk take longer, so they are fewer.
  auto reader = random() % 50 == 0 ? fuzz::file_reader : fuzz::header_reader;
  run(reader, fuzz::mutate_safetensors(files[random() % files.size()], random));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "100000";
  if (first.find_first_not_of("0123456789") != std::string::npos) {
    std::string input = io::read_file(first, size_t{1} << 30);
    return LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
  }
  const uint64_t count = std::strtoull(first.c_str(), nullptr, 10);
  const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  for (uint64_t i = 0; i < count; ++i) run_seeded(seed + i);
  fmt::print("{} inputs, {} of them accepted\n", count, fuzz::accepted());
  // Mutations that are always refused would test the refusals only.
  return fuzz::accepted() * 20 < count ? EXIT_FAILURE : EXIT_SUCCESS;
}
