// Every model's example is a command line that this program takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "base/json.hpp"
#include "cli/program.hpp"
#include "io/image.hpp"
#include "small_models.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;

// The goldens' folders of one family share what they have in common: flags that name it.
std::vector<std::string> shared_parts(const std::string& id) {
  namespace fs = std::filesystem;
  if (!id.starts_with("sdxl-")) return {};
  const fs::path own = small_model(id), base = small_model("sdxl");
  std::vector<std::string> flags;
  for (const std::string name :
       {"text_encoder", "text_encoder_2", "tokenizer", "tokenizer_2", "unet", "vae"}) {
    bool none = id == "sdxl-refiner" && (name == "text_encoder" || name == "tokenizer");
    if (none || fs::exists(own / name)) continue;
    flags.insert(flags.end(), {"--component", name + "=" + (base / name).string()});
  }
  return flags;
}

// A line as a shell takes it: words, and quotes around some.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false, begun = false;
  for (char c : line + " ") {
    if (c == '"') {
      quoted = !quoted;
      begun = true;
    } else if (c != ' ' || quoted) {
      word += c;
      begun = true;
    } else if (begun) {
      words.push_back(std::exchange(word, ""));
      begun = false;
    }
  }
  return words;
}

Json models() {
  return Json::parse(run_program({"models", "--json"}).out);
}

TEST(Examples, AreTaken) {
  Scratch scratch;
  io::Image picture = io::Image::zeros(64, 64, 3), mask = picture;
  std::ranges::fill(mask.pixels, uint8_t{255});
  io::write_image(scratch.file("in.png"), picture);
  io::write_image(scratch.file("mask.png"), mask);
  io::write_image(scratch.file("edges.png"), picture);
  size_t checked = 0;
  for (const Json& entry : models()) {
    if (entry.contains("alias_of")) continue;
    std::string id = entry["id"], task = entry["task"], example = entry["example"];
    SCOPED_TRACE(example);
    ASSERT_NE(small_model(id), "") << id << " has no folder to try its example on";
    std::vector<std::string> words = words_of(example);
    ASSERT_EQ(words.front(), "omnirt");
    words.erase(words.begin());
    for (std::string& word : words) {
      if (word == "in.png" || word == "mask.png") word = scratch.file(word);
      const std::string control = "control_image=";
      if (word == control + "edges.png") word = control + scratch.file("edges.png");
    }
    words.insert(words.end(), {"--model-path", small_model(id), "--dry-run", "--json"});
    std::ranges::copy(shared_parts(id), std::back_inserter(words));
    Ended ended = run_program(words);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    Json told = Json::parse(ended.out, nullptr, /*allow_exceptions=*/false);
    ASSERT_TRUE(told.is_object()) << ended.out;
    EXPECT_EQ(told["model"], id);
    EXPECT_EQ(told["task"], task);
    EXPECT_EQ(told["warnings"], Json::array());
    ++checked;
  }
  EXPECT_GE(checked, 20u);
}

}  // namespace
}  // namespace omnirt::testing
