// Fixes as a user at a command line reads them: what is printed can be typed, and is then accepted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "catalogue/make_session.hpp"
#include "cli/options.hpp"
#include "cli/program.hpp"
#include "io/image.hpp"
#include "small_models.hpp"

namespace omnirt::testing {
namespace {
using cli::FlagNames;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

Session& session() {
  static const auto made = make_session();
  return *made;
}

// What `omnirt validate` finds about these words, as it prints it.
std::vector<Finding> findings_of(const Words& words) {
  CLI::App program;
  cli::RequestCommand& command = cli::RequestCommand::add(program, "validate", "");
  cli::RequestOptions options(command, session().keys());
  Words all{"validate"};
  all.insert(all.end(), words.begin(), words.end());
  std::ranges::reverse(all);
  program.parse(all);
  auto checked = session().check(options.request(), false, Files::named_only);
  std::vector<Finding> found = checked.errors;
  found.insert(found.end(), checked.warnings.begin(), checked.warnings.end());
  return options.fields().in_flags(found);
}

// Removes a flag and its value.
void remove_flag(Words& words, const std::string& flag) {
  auto at = std::ranges::find(words, flag);
  if (at == words.end()) return;
  const bool value = at + 1 != words.end() && !(at + 1)->starts_with("--");
  words.erase(at, at + (value ? 2 : 1));
}

// In place of the flag's value, if it has one.
void set_flag(Words& words, const std::string& flag, const std::string& value) {
  const bool repeatable = flag.ends_with("-set") || flag == "--set" || flag == "--component";
  if (!repeatable) remove_flag(words, flag);
  words.push_back(flag);
  if (!value.empty()) words.push_back(value);
}

Words words_in(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == ',' || c == ';'; }, ' ');
  std::erase(text, '\'');
  std::istringstream stream(text);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// The words with the first fix of a finding typed. A flag's new value alone ("give 96") is that of
// the finding's own flag; "above 1" is 2.
Words fixed(Words words, const Finding& finding) {
  const std::string own = finding.field.substr(0, finding.field.find(' '));
  const std::string fix = finding.way_out.substr(0, finding.way_out.find(", or "));
  const Words parts = words_in(fix);
  if (fix == "remove it" || fix.ends_with("in its place")) remove_flag(words, own);
  bool typed = false;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].starts_with("--")) continue;
    const std::string next = i + 1 < parts.size() ? parts[i + 1] : "";
    const bool none = next.empty() || next == "and" || next == "in" || next == "which";
    set_flag(words, parts[i], next == "above" ? "2" : none ? "" : next);
    typed = true;
  }
  if (typed || parts.size() < 2) return words;
  const bool meant = fix.starts_with("did you mean ");
  std::string value = parts[meant ? 3 : 1];
  std::erase(value, '?');
  set_flag(words, own, value);
  return words;
}

struct Fix {
  const char* name;
  std::string model;
  Words words;
  const char* printed;  // in the fix
};

void PrintTo(const Fix& fix, std::ostream* out) {
  *out << fix.name;
}

const std::vector<Fix>& fixes() {
  static const std::vector<Fix> all{
      {"rescale",
       "emoji-sd",
       {"--guidance-scale", "1", "--guidance-rescale", "0.5"},
       "raise --guidance-scale above 1, or remove it"},
      {"negative",
       "emoji-sd",
       {"--guidance-scale", "1", "--negative-prompt", "x"},
       "raise --guidance-scale above 1"},
      {"true_negative", "flux1.dev", {"--negative-prompt", "x"}, "raise --true-cfg-scale above 1"},
      {"original_negative",
       "z-image",
       {"--guidance-scale", "0", "--negative-prompt", "x"},
       "raise --guidance-scale above 0"},
      {"guider_rescale",
       "emoji-sd",
       {"--guider", "cfg", "--guider-set", "guidance_scale=1", "--guider-set",
        "guidance_rescale=0.5"},
       "set --guider-set guidance_scale=2, or remove it"},
      {"skipped",
       "sd3-medium",
       {"--guidance-scale", "1", "--skip-guidance-layers", "1"},
       "raise --guidance-scale above 1"},
      {"groups", "emoji-sd", {"--blocks-per-group", "2"}, "set --offload group, or remove it"},
      {"ahead", "emoji-sd", {"--prefetch-groups", "2"}, "set --offload leaf"},
      {"tile", "sd15", {"--vae-tile-size", "64"}, "set --vae-tiling, or remove it"},
      {"branch", "emoji-sd", {"--cache-branch", "1"}, "set --cache deep"},
      {"order", "flux1.dev", {"--max-order", "2"}, "set --cache taylorseer"},
      {"preview", "emoji-sd", {"--preview-name", "x"}, "set --preview-every 1"},
      {"guider_type", "emoji-sd", {"--guider", "pagg"}, "did you mean 'pag'?"},
      {"both_scales",
       "emoji-sd",
       {"--guider", "cfg", "--guidance-scale", "3"},
       "set --guider-set guidance_scale=3"},
      {"width", "emoji-sd", {"--width", "100"}, "give 96 or 104"},
      {"steps", "emoji-sd", {"--steps", "0"}, "give 1 to 1000"},
      {"task", "emoji-sd", {"--task", "text2vid"}, "known: text2image"},
      {"scheduler", "emoji-sd", {"--scheduler", "eulr"}, "did you mean"},
      {"windows", "emoji-sd", {"--circular-padding", "--window-stride", "64"}, "add --window-size"},
  };
  return all;
}

class Fixes : public ::testing::TestWithParam<Fix> {};

TEST_P(Fixes, AreTypedAsPrintedAndThenAccepted) {
  const Fix& fix = GetParam();
  Words words{"-m", fix.model, "-p", "a red apple"};
  if (!fix.model.starts_with("emoji"))
    words.insert(words.end(), {"--model-path", small_model(fix.model)});
  words.insert(words.end(), fix.words.begin(), fix.words.end());
  auto findings = findings_of(words);
  auto found = std::ranges::find_if(findings, [&](const Finding& each) {
    return each.way_out.find(fix.printed) != std::string::npos;
  });
  ASSERT_NE(found, findings.end()) << (findings.empty() ? "none" : findings.front().text());
  EXPECT_TRUE(found->field.starts_with("--")) << found->field;
  if (fix.name == std::string("windows")) return;  // it names no size
  for (const Finding& each : findings_of(fixed(words, *found)))
    EXPECT_NE(each.field, found->field) << each.text();
}

INSTANTIATE_TEST_SUITE_P(Table, Fixes, ::testing::ValuesIn(fixes()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(FlagNames, OfAGuiderAreThoseThatWereTyped) {
  auto field = [](const Words& words) {
    Words all{"-m", "emoji-sd", "-p", "x"};
    all.insert(all.end(), words.begin(), words.end());
    auto findings = findings_of(all);
    return findings.empty() ? "" : findings.front().field;
  };
  EXPECT_EQ(field({"--guider", "pagg"}), "--guider (guider.type)");
  EXPECT_EQ(field({"--guider", "pag", "--guider-set", "pag_scael=3"}),
            "--guider-set (guider.pag_scael)");
  EXPECT_EQ(field({"--guider", R"({"type": "pag", "pag_scael": 3})"}),
            "--guider (guider.pag_scael)");
}

FlagNames some_flags() {
  FlagNames flags;
  flags.add("config.seed", "--seed");
  flags.add("config.scheduler_config", "--scheduler-config");
  flags.add_switch("config.vae_tiling", "--vae-tiling", "");
  flags.add_switch("config.binning", "--binning", "--no-binning");
  flags.add("guider.type", "--guider");
  flags.add("inputs.image", "--image");
  flags.add("adapters", "--lora");
  return flags;
}

TEST(FlagNames, TakeThePlacesOfFieldsWithTheirValues) {
  const FlagNames flags = some_flags();
  for (const auto& [fix, shown] : std::vector<std::pair<std::string, std::string>>{
           {"give config.seed=7, or remove it", "give --seed 7, or remove it"},
           {"raise config.seed above 1", "raise --seed above 1"},
           {"set config.vae_tiling=true", "set --vae-tiling"},
           {"set config.vae_tiling=false", "set --set vae_tiling=false"},
           {"set config.binning=false", "set --no-binning"},
           {"set config.scheduler_config.shift=3", "set --scheduler-set shift=3"},
           {R"(set config.scheduler_config={"shift": 3})",
            R"(set --scheduler-config '{"shift": 3}')"},
           {"set guider.type=autoguidance", "set --guider autoguidance"},
           {"set guider.scale=2", "set --guider-set scale=2"},
           {"give inputs.image and inputs.mask", "give --image and --input mask=..."},
           {"give components.vae a folder", "give --component vae=... a folder"},
           {"set adapters.path=FILE", "set --lora FILE"},
       })
    EXPECT_EQ(flags.with_flags(fix), shown);
}

// File names and words that only look like fields.
TEST(FlagNames, TakeNoOtherPlaces) {
  const FlagNames flags = some_flags();
  for (const char* text : {"take the config.json that the weights came with", "unet/config.json",
                           "tokenizer_config.json and scheduler_config.json", "config.no_such_key",
                           "config.", "my.config.seed", "the inputs, and the components"})
    EXPECT_EQ(flags.with_flags(text), text);
}

}  // namespace
}  // namespace omnirt::testing
