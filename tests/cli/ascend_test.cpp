// A model end to end on the ascend backend, over a plug-in of the tests' own whose device computes
// on the processor: what is not moved to the device, or is computed without it, fails there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/json.hpp"
#include "cli/program.hpp"
#include "io/safetensors.hpp"
#include "source_paths.hpp"

namespace omnirt::testing {
namespace {
using ::testing::HasSubstr;

const std::string goldens = source_path("tests/goldens/").string();

// The latents that a state holds.
std::vector<float> latents_of(const std::string& state) {
  auto opened = io::SafetensorsFile::open(state);
  const io::TensorEntry* entry = opened->find(":latents:value");
  if (!entry) return {};
  auto bytes = opened->data(*entry);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

double relative_error(const std::vector<float>& got, const std::vector<float>& expected) {
  double off = 0, largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    off = std::max(off, std::abs(static_cast<double>(got[i]) - expected[i]));
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
  }
  return off / largest;
}

class AscendModel : public ::testing::Test {
 protected:
  void SetUp() override { setenv("OMNIRT_ASCEND_PLUGIN", OMNIRT_FAKE_ASCEND, 1); }
  void TearDown() override { unsetenv("OMNIRT_ASCEND_PLUGIN"); }
  Scratch scratch_;
};

// The latents of a request on a backend, whose every network must run as the references say.
std::vector<float> latents_on(const std::string& backend, const Scratch& scratch,
                              std::vector<std::string> request) {
  std::string state = scratch.file(backend);
  request.insert(request.begin(), "generate");
  request.insert(request.end(),
                 {"--backend", backend, "--json", "--stop-after", "denoise", "--state", state});
  Ended ended = run_program(request);
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  if (ended.exit_code != 0) return {};
  Json report = parse_json(ended.out, "stdout");
  EXPECT_EQ(report["backend"], backend);
  std::map<std::string, std::string> devices;
  for (const Json& each : report["device_placement"])
    devices[each["component"].get<std::string>()] = each["device"].get<std::string>();
  for (const Json& component : report["backend_timeline"]) {
    const Json& last = component["attempts"].back();
    EXPECT_TRUE(last["ok"].get<bool>()) << component["component"] << last["reason"];
    if (devices[component["component"].get<std::string>()] == "ascend:0") {
      EXPECT_EQ(last["level"], "eager") << component["component"];
    }
  }
  return latents_of(state);
}

void expect_the_cpus_latents(const Scratch& scratch, const std::vector<std::string>& request,
                             const std::string& device_map = "") {
  std::vector<std::string> placed = request;
  if (!device_map.empty()) placed.insert(placed.end(), {"--device-map", device_map});
  auto expected = latents_on("cpu", scratch, request), got = latents_on("ascend", scratch, placed);
  ASSERT_FALSE(expected.empty());
  ASSERT_EQ(got.size(), expected.size());
  // The goldens' own limit of latents: the same maths in another order of additions.
  EXPECT_LT(relative_error(got, expected), 1e-3);
}

// PixArt: a text encoder and a transformer whose attention takes biases; SD 1.5: a UNet. With
// guidance over two steps.
TEST_F(AscendModel, MakesTheCpusLatents) {
  for (const char* model : {"pixart_sigma", "sd15"}) {
    SCOPED_TRACE(model);
    expect_the_cpus_latents(
        scratch_, {"-m", goldens + "pipelines/" + model + "/model", "-p", "a red apple", "--width",
                   "64", "--height", "64", "--seed", "7", "--steps", "2"});
  }
}

// What one network makes for another stays on the device: residuals, features, image prompts.
TEST_F(AscendModel, MakesTheCpusLatentsWithControls) {
  for (const char* name :
       {"controlnet_two_guess", "controlnet_pooled", "t2i_two", "ip_masks", "controlnet_ip"}) {
    SCOPED_TRACE(name);
    expect_the_cpus_latents(scratch_, {"-f", goldens + "control/sd15/" + name + "/request.json"});
  }
}

// Values travel between two kinds of devices, whichever of the two networks is where.
TEST_F(AscendModel, MakesTheCpusLatentsWithComponentsOnBoth) {
  for (auto [name, map] : {std::pair{"controlnet_two_guess", "controlnet_1=cpu"},
                           {"t2i_two", "t2i_adapter=cpu,text_encoder=cpu"},
                           {"controlnet_ip", "unet=cpu"}}) {
    SCOPED_TRACE(map);
    expect_the_cpus_latents(scratch_, {"-f", goldens + "control/sd15/" + name + "/request.json"},
                            map);
  }
}

TEST_F(AscendModel, RefusesWhatTheBackendDoesNotDo) {
  for (auto [flag, value] :
       {std::pair{"--quantize", "int8"}, {"--pack", "always"}, {"--matmul-precision", "highest"}}) {
    Ended ended =
        run_program({"validate", "--backend", "ascend", "-p", "a red apple", flag, value});
    EXPECT_EQ(ended.exit_code, 2) << flag;
    EXPECT_THAT(ended.err, HasSubstr("backend ascend does not have it"));
  }
}

}  // namespace
}  // namespace omnirt::testing
