// The worked example of docs/adding-a-model.md: its text is what is built, and it runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "cli/program.hpp"
#include "io/image.hpp"
#include "source_paths.hpp"

namespace omnirt::testing {
namespace {
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string text_of(const std::string& path) {
  std::ifstream file(source_path(path));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The page's blocks of a language.
std::vector<std::string> blocks_of(const std::string& page, const std::string& language) {
  std::vector<std::string> found;
  std::string begin = "```" + language + "\n";
  for (size_t at = page.find(begin); at != page.npos; at = page.find(begin, at)) {
    at += begin.size();
    found.push_back(page.substr(at, page.find("```", at) - at));
  }
  return found;
}

class ModelPlugin : public ::testing::Test {
 protected:
  // As the page has it: the folder of the embedded model with the new network's weights.
  std::string model() {
    scratch.write("make_conv.py", blocks_of(page, "python").at(0));
    std::string folder = scratch.file("conv");
    std::string command = "python3 " + scratch.file("make_conv.py") + " " +
                          source_path("models/emoji-sd").string() + " " + folder;
    EXPECT_EQ(std::system(command.c_str()), 0);
    return folder;
  }
  const std::string page = text_of("docs/adding-a-model.md");
  const std::string plugin = OMNIRT_PLUGINS_BUILT "/libconv_denoiser.so";
  Scratch scratch;
};

TEST_F(ModelPlugin, OfTheDocumentationIsTheOneThatIsTested) {
  std::string together;
  for (const std::string& block : blocks_of(page, "cpp"))
    together += (together.empty() ? "" : "\n") + block;
  EXPECT_EQ(together, text_of("tests/plugins/conv_denoiser.cpp"));
}

TEST_F(ModelPlugin, BringsAFamilyWithANetworkOfItsOwn) {
  Ended ended = run_program({"generate", "--plugin", plugin, "--model", model(), "--prompt",
                             "a red apple", "--steps", "2", "-o", scratch.file("out.png")});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  io::Image made = io::read_image(scratch.file("out.png"));
  EXPECT_EQ(made.width, 128);
  Ended listed = run_program({"models", "conv", "--plugin", plugin});
  EXPECT_THAT(listed.out, HasSubstr("a worked example")) << listed.err;
}

TEST_F(ModelPlugin, HoldsACheckpointAgainstTheNetworksTree) {
  std::string folder = model();
  std::ofstream(folder + "/unet/config.json")
      << R"({"_class_name": "ConvDenoiser", "in_channels": 32, "hidden_channels": 16,)"
      << R"( "num_layers": 2, "cross_attention_dim": 192, "sample_size": 16})";
  Ended ended = run_program({"validate", "--plugin", plugin, "--model", folder, "--prompt", "a"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr("blocks.1.attn.to_q.weight"));
}

TEST_F(ModelPlugin, RefusesAConfigBeyondItsBoundsByName) {
  std::string folder = model();
  std::ofstream(folder + "/unet/config.json")
      << R"({"_class_name": "ConvDenoiser", "hidden_channels": 1000000, "num_layers": 0})";
  Ended ended = run_program({"validate", "--plugin", plugin, "--model", folder, "--prompt", "a"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("hidden_channels"), HasSubstr("num_layers")));
}

}  // namespace
}  // namespace omnirt::testing
