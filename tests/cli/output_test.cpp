// What the program prints and writes: printable, arrived, checked before the run, and of the right
// kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/json.hpp"
#include "cli/program.hpp"
#include "io/file.hpp"
#include "io/safetensors_writer.hpp"
#include "source_paths.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string emoji = source_path("models/emoji-sd").string();
// What sets a terminal's title, turns it red and, as one character of C1, begins such a sequence;
// and what turns the direction of text.
const std::string hostile =
    "a\x1b]0;title\x07\x1b[31m\xc2\x9b"
    "31m\xe2\x80\xae"
    "b";

bool has_controls(const std::string& text) {
  for (unsigned char byte : text) {
    if (byte == 0x7f || (byte < 0x20 && byte != '\n')) return true;
  }
  return text.find("\xc2\x9b") != text.npos || text.find("\xe2\x80\xae") != text.npos;
}

void expect_printable(const std::vector<std::string>& words) {
  Ended ended = run_program(words);
  EXPECT_FALSE(has_controls(ended.out)) << ended.out;
  EXPECT_FALSE(has_controls(ended.err)) << ended.err;
  EXPECT_THAT(ended.out + ended.err, HasSubstr("title"));
}

// The embedded model in a folder of the test's own, its files links to the real ones but `edited`.
fs::path copy_of_emoji(const Scratch& scratch) {
  fs::path folder = scratch.path() / "model";
  fs::copy(emoji, folder, fs::copy_options::recursive);
  return folder;
}

void edit_json(const fs::path& file, const std::function<void(Json&)>& edit) {
  Json json = io::read_json(file);
  edit(json);
  io::write_file(file, json.dump());
}

TEST(Terminal, NamesOfTensorsAreShownPrintable) {
  Scratch scratch;
  std::array<float, 1> value{1};
  io::TensorView tensor{hostile, io::Dtype::f32, {1}, std::as_bytes(std::span(value))};
  io::write_safetensors(scratch.path() / "x.safetensors", std::span(&tensor, 1));
  expect_printable({"inspect", scratch.file("x.safetensors")});
  expect_printable({"inspect", scratch.file("x.safetensors"), "--json"});
  expect_printable({"validate", "-m", scratch.file("x.safetensors"), "-p", "x"});
  expect_printable({"validate", "-m", scratch.file("x.safetensors"), "-p", "x", "--json"});
}

TEST(Terminal, KeysOfConfigsAndNamesOfComponentsAreShownPrintable) {
  Scratch scratch;
  fs::path model = copy_of_emoji(scratch);
  edit_json(model / "unet/config.json", [](Json& json) { json[hostile] = hostile; });
  expect_printable({"validate", "-m", model.string(), "-p", "x"});
  edit_json(model / "model_index.json", [](Json& json) {
    json[hostile] = {"diffusers", hostile};
    json["_class_name"] = hostile;
  });
  expect_printable({"validate", "-m", model.string(), "-p", "x"});
  expect_printable({"inspect", model.string()});
  expect_printable({"inspect", model.string(), "--json"});
  expect_printable({"convert", model.string(), scratch.file("one.safetensors")});
}

TEST(Terminal, JsonReadsTheSameWithItsEscapes) {
  Scratch scratch;
  std::array<float, 1> value{1};
  io::TensorView tensor{hostile, io::Dtype::f32, {1}, std::as_bytes(std::span(value))};
  io::write_safetensors(scratch.path() / "x.safetensors", std::span(&tensor, 1));
  Ended ended = run_program({"inspect", scratch.file("x.safetensors"), "--json"});
  EXPECT_EQ(parse_json(ended.out, "stdout")["weights"]["entries"][0]["name"], hostile);
}

TEST(Output, AFileThatPassesTheLimitOfTheProcessEndsTheRunWithAnErrorAndLeavesNothing) {
  Scratch scratch;
  Ended ended =
      run_program_with({"generate", "-p", "x", "--steps", "1", "-o", scratch.file("out.png")},
                       {.largest_file = 1024});
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("out.png"), HasSubstr("ulimit -f")));
  EXPECT_THAT(scratch.names(), IsEmpty());
}

TEST(Output, AReportThatCannotBeWrittenIsToldBeforeTheRun) {
  Scratch scratch;
  for (const char* command : {"generate", "bench"}) {
    std::vector<std::string> words{
        command, "-p", "x", "--steps", "1", "-o", scratch.file("out.png")};
    words.insert(words.end(), {command == std::string("bench") ? "--result" : "--report",
                               scratch.file("nowhere/report.json")});
    Ended ended = run_program(words);
    EXPECT_EQ(ended.exit_code, 2);
    EXPECT_THAT(ended.err, AllOf(HasSubstr("report.json"), HasSubstr("does not exist")));
    EXPECT_THAT(scratch.names(), IsEmpty());
  }
}

TEST(Output, ADeviceIsNoOutputUnderAnyFormat) {
  Ended ended = run_program({"validate", "-p", "x", "-o", "/dev/null", "--output-format", "png"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr("pipe, socket or device"));
}

TEST(Output, AStateIsItsOwnersAlone) {
  Scratch scratch;
  ASSERT_EQ(run_program({"generate", "-p", "x", "--steps", "1", "--stop-after", "encode_prompt",
                         "--state", scratch.file("state")})
                .exit_code,
            0);
  struct stat info {};
  ASSERT_EQ(stat(scratch.file("state").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
}

TEST(Output, AWeightsFileThatShrinksDuringTheRunIsNamedAndNoImageMade) {
  Scratch scratch, outputs;
  fs::path model = copy_of_emoji(scratch);
  fs::path weights = model / "vae/diffusion_pytorch_model.safetensors";
  bool shrunk = false;
  Ended ended = run_program_with(
      {"generate", "-m", model.string(), "-p", "x", "--steps", "2", "-o", outputs.file("out.png")},
      {.watch = [&](int, const std::string& err) {
        if (shrunk || err.find("step 1/") == err.npos) return;
        fs::resize_file(weights, 4096);
        shrunk = true;
      }});
  EXPECT_EQ(ended.exit_code, 2) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr(weights.string()), HasSubstr("became shorter")));
  EXPECT_THAT(outputs.names(), IsEmpty());
}

TEST(Models, GivesTheTaskThatIsAskedForAlone) {
  Ended inpaint = run_program({"models", "emoji-sd", "--task", "inpaint", "--json"});
  ASSERT_EQ(inpaint.exit_code, 0) << inpaint.err;
  Json tasks = parse_json(inpaint.out, "stdout")["tasks"];
  ASSERT_EQ(tasks.size(), 1U);
  EXPECT_EQ(tasks[0]["task"], "inpaint");
  EXPECT_THAT(run_program({"models", "--task", "image2video"}).out,
              AllOf(HasSubstr("svd"), Not(HasSubstr("text2image"))));
  Ended none = run_program({"models", "emoji-sd", "--task", "image2video"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, AllOf(HasSubstr("--task"), HasSubstr("inpaint")));
}

TEST(Convert, WritesASingleFileAsSafetensorsOrGgufOnly) {
  Scratch scratch;
  for (const char* name : {"x.ckpt", "plain"}) {
    Ended ended = run_program({"convert", emoji, scratch.file(name)});
    EXPECT_EQ(ended.exit_code, 2) << name;
    EXPECT_THAT(ended.err, HasSubstr(".safetensors")) << name;
  }
  EXPECT_THAT(scratch.names(), IsEmpty());
}

TEST(Convert, WarnsWhereTheTokenizerDoesNotTravel) {
  Scratch scratch;
  const std::string model = source_path("tests/goldens/pipelines/sd15/model").string();
  Ended ended = run_program({"convert", model, scratch.file("one.safetensors")});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("warning: tokenizer"),
                               HasSubstr("--component tokenizer=" + model + "/tokenizer")));
}

}  // namespace
}  // namespace omnirt::testing
