#include "fuzz/target.hpp"

#include <cstdio>
#include <cstdlib>

#include "base/error.hpp"
#include "io/utf8.hpp"

namespace omnirt::fuzz {
namespace {

size_t accepted_inputs = 0;
constexpr size_t longest_message = 100'000;

}  // namespace

void require(bool condition, const char* promise) {
  if (condition) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

size_t accepted() {
  return accepted_inputs;
}

}  // namespace omnirt::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace omnirt;
  try {
    fuzz::read_input({reinterpret_cast<const char*>(data), size});
    ++fuzz::accepted_inputs;
  } catch (const InvalidRequest& refusal) {
    const std::string message = refusal.what();
    fuzz::require(!message.empty() && message.size() < fuzz::longest_message, "a message is short");
    fuzz::require(io::find_invalid_utf8(message) == std::string::npos, "a message is UTF-8");
    fuzz::require(message.find("json.exception") == std::string::npos,
                  "a message does not quote the JSON library");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "refused by another error than findings: %s\n", error.what());
    std::abort();
  }
  return 0;
}
