// Runs seeded inputs through a fuzz target: the same inputs on every machine.
//   fuzz_NAME [count [first seed]]                 `count` inputs
//   fuzz_NAME --seconds SECONDS [first seed]       as many as there is time for
//   fuzz_NAME FILE                                 one input, as libFuzzer writes it
// An input ends the process when it takes over 5 s of processor time or 500 MB of memory.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/target.hpp"
#include "io/file.hpp"

// Of the sanitizers, where the build has them.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*)());
// Freed memory is kept for a while to find its uses; what is kept must not count as the input's.
extern "C" const char* __asan_default_options() {
  return "quarantine_size_mb=16:handle_abort=1";
}

namespace {

using namespace omnirt;

constexpr int most_seconds = 5;
constexpr int64_t most_memory = int64_t{500} << 20;
uint64_t seed_at_work = 0;

// Only calls that a signal handler may make.
void say(const char* text) {
  [[maybe_unused]] auto written = ::write(STDERR_FILENO, text, std::strlen(text));
}

void name_the_seed() {
  char digits[24];
  char* at = digits + sizeof digits;
  *--at = '\0';
  *--at = '\n';
  uint64_t rest = seed_at_work;
  do *--at = static_cast<char>('0' + rest % 10);
  while ((rest /= 10) > 0);
  say("fuzzing ended; repeat this input with the arguments: 1 ");
  say(at);
}

void on_time_out(int) {
  say("an input takes over 5 s of processor time\n");
  std::abort();
}

void on_crash(int signal) {
  name_the_seed();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void watch_for_crashes() {
  std::signal(SIGPROF, on_time_out);
  if (__sanitizer_set_death_callback != nullptr)
    return __sanitizer_set_death_callback(name_the_seed);
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGILL}) std::signal(signal, on_crash);
}

void set_timer(int seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = seconds;
  ::setitimer(ITIMER_PROF, &timer, nullptr);
}

int64_t peak_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} << 10;
}

// Each input has a generator of its own, so that one can be repeated alone.
void run_seeded(uint64_t seed) {
  seed_at_work = seed;
  fuzz::Random random(seed);
  const std::string input = fuzz::make_input(random);
  // No byte more than the input, not even a string's last zero, so that one step too far is seen.
  const std::vector<uint8_t> bytes(input.begin(), input.end());
  static const int64_t before = peak_bytes();
  set_timer(most_seconds);
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  set_timer(0);
  fuzz::require(peak_bytes() - before < most_memory, "an input takes less than 500 MB");
}

struct Arguments {
  std::optional<double> seconds;
  uint64_t count = 100'000;
  uint64_t first = 1;
};

Arguments read_arguments(std::vector<std::string> words) {
  Arguments arguments;
  if (words.size() > 1 && words[0] == "--seconds") {
    arguments.seconds = std::strtod(words[1].c_str(), nullptr);
    words.erase(words.begin());
  } else if (!words.empty()) {
    arguments.count = std::strtoull(words[0].c_str(), nullptr, 10);
  }
  if (words.size() > 1) arguments.first = std::strtoull(words[1].c_str(), nullptr, 10);
  return arguments;
}

int run_all(const Arguments& arguments) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  uint64_t done = 0;
  auto more = [&] {
    if (!arguments.seconds) return done < arguments.count;
    return std::chrono::duration<double>(Clock::now() - start).count() < *arguments.seconds;
  };
  for (; more(); ++done) run_seeded(arguments.first + done);
  fmt::print("{} inputs, {} of them accepted\n", done, fuzz::accepted());
  // Mutations that are always refused would test the refusals only.
  return done >= 1000 && fuzz::accepted() * 20 < done ? EXIT_FAILURE : EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  watch_for_crashes();
  bool is_file = words.size() == 1 && words[0].find_first_not_of("0123456789") != std::string::npos;
  if (!is_file) return run_all(read_arguments(words));
  const std::string input = io::read_file(words[0], size_t{1} << 30);
  return LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}
