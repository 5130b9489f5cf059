// Runs inside a host program that has changed torch's settings for its process or thread.
#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/ScalarTypeToTypeMeta.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "base/error.hpp"
#include "catalogue/catalogue.hpp"
#include "catalogue/support.hpp"
#include "tensor/host_state.hpp"

namespace omnirt::testing {
namespace {

GenerateRequest apple(const std::string& level, const std::string& scheduler) {
  GenerateRequest request;
  request.model = "emoji-sd";
  request.inputs["prompt"] = "a red apple";
  request.config = {{"seed", 1},      {"num_inference_steps", 2}, {"guidance_scale", 3.0},
                    {"level", level}, {"scheduler", scheduler},   {"width", 64},
                    {"height", 64}};
  return request;
}

// By an engine of its own: what a loaded model keeps is made under the setting, too.
io::Image made(const std::string& level, const std::string& scheduler) {
  Engine fresh(builtin_catalogue());
  TemporaryFolder folder;
  GenerateRequest request = apple(level, scheduler);
  request.config["output"] = folder.file("x.png");
  run_on(fresh, request);
  return io::read_image(folder.file("x.png"));
}

// A setting that lasts as long as the call.
using Setting = std::function<io::Image(const std::function<io::Image()>&)>;

io::Image with_default_dtype(at::ScalarType type, const std::function<io::Image()>& run) {
  const caffe2::TypeMeta before = c10::get_default_dtype();
  c10::set_default_dtype(c10::scalarTypeToTypeMeta(type));
  io::Image image = run();
  c10::set_default_dtype(before);
  return image;
}

io::Image with_autocast(const std::function<io::Image()>& run) {
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  io::Image image = run();
  at::autocast::set_autocast_enabled(at::kCPU, false);
  return image;
}

io::Image in_inference_mode(const std::function<io::Image()>& run) {
  const c10::InferenceMode mode;
  return run();
}

io::Image with_deterministic_algorithms(const std::function<io::Image()>& run) {
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
  io::Image image = run();
  at::globalContext().setDeterministicAlgorithms(false, false);
  return image;
}

const std::vector<std::pair<const char*, Setting>>& settings() {
  static const std::vector<std::pair<const char*, Setting>> all{
      {"half", [](const auto& run) { return with_default_dtype(at::kHalf, run); }},
      {"bfloat16", [](const auto& run) { return with_default_dtype(at::kBFloat16, run); }},
      {"double", [](const auto& run) { return with_default_dtype(at::kDouble, run); }},
      {"autocast", with_autocast},
      {"inference mode", in_inference_mode},
      {"deterministic", with_deterministic_algorithms}};
  return all;
}

TEST(HostState, NoSettingOfTheHostChangesTheImage) {
  for (const auto& [level, scheduler] :
       {std::pair("compile", "kdpm2"), {"eager", "euler"}, {"kernel_override", "unipc"}}) {
    const io::Image plain = made(level, scheduler);
    for (const auto& [name, setting] : settings()) {
      const io::Image other = setting([&] { return made(level, scheduler); });
      EXPECT_EQ(other, plain) << level << ", " << name;
    }
  }
}

TEST(HostState, IsTheHostsOwnInItsCallbacksAndAfterwards) {
  const c10::InferenceMode mode;
  at::autocast::set_autocast_enabled(at::kCPU, true);
  {
    const ComputeScope scope;
    EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
    EXPECT_FALSE(c10::InferenceMode::is_enabled());
    const c10::InferenceMode of_the_run;
    const HostScope callback;
    EXPECT_TRUE(at::autocast::is_autocast_enabled(at::kCPU));
  }
  EXPECT_TRUE(at::autocast::is_autocast_enabled(at::kCPU));
  EXPECT_TRUE(c10::InferenceMode::is_enabled());
  at::autocast::set_autocast_enabled(at::kCPU, false);
}

TEST(HostState, AForkedChildOfAProcessThatHasRunIsRefused) {
  made("compile", "euler");
  const pid_t child = fork();
  if (child == 0) {
    try {
      engine().run(apple("compile", "euler"), {}, {}, *std::make_unique<RunReport>());
    } catch (const RunFailed& refused) {
      _exit(std::string(refused.what()).find("forked") == std::string::npos ? 2 : 0);
    } catch (...) {
    }
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace omnirt::testing
