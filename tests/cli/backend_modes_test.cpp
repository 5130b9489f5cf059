// What a backend does not do is refused before anything is loaded, by the field that asks for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.hpp"
#include "cli/program.hpp"

namespace omnirt::testing {
namespace {
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

Ended validate(Words words) {
  words.insert(words.begin(), {"validate", "-p", "a red apple"});
  return run_program(words);
}

struct Refused {
  Words words;
  Words told;
};

TEST(BackendModes, WhatABackendDoesNotDoIsRefusedByName) {
  for (const Refused& each : std::vector<Refused>{
           {{"--backend", "cpu-stub", "--quantize", "int8"},
            {"config.quantize", "int8", "backend cpu-stub", "give one of: auto, none"}},
           {{"--backend", "cpu-stub", "--pack", "always"},
            {"config.pack", "always", "backend cpu-stub", "auto, never"}},
           {{"--backend", "cpu-stub", "--matmul-precision", "high"},
            {"config.matmul_precision", "high", "backend cpu-stub", "highest"}},
           {{"--backend", "cpu", "--dtype", "fp16"}, {"config.dtype", "fp16", "fp32, bf16"}}}) {
    Ended ended = validate(each.words);
    EXPECT_EQ(ended.exit_code, 2) << each.words[3];
    for (const std::string& text : each.told) EXPECT_THAT(ended.err, HasSubstr(text));
  }
}

TEST(BackendModes, WhatABackendDoesNotDoTogetherIsRefusedByName) {
  for (const Refused& each : std::vector<Refused>{
           {{"--matmul-precision", "highest", "--dtype", "bf16", "--level", "compile"},
            {"config.dtype", "at one level"}},
           {{"--pack", "always", "--level", "eager"}, {"config.pack", "levels: compile\n"}},
           {{"--pack", "always", "--memory-budget", "1GB"}, {"config.pack", "always", "omit it"}},
           {{"--pack", "always", "--offload", "leaf"}, {"config.pack", "always", "omit it"}},
           {{"--quantize", "int8", "--level", "eager"},
            {"config.quantize", "levels: compile, kernel_override"}},
           {{"--dtype", "bf16", "--level", "kernel_override"},
            {"config.dtype", "bf16", "levels: compile, eager"}}}) {
    Ended ended = validate(each.words);
    EXPECT_EQ(ended.exit_code, 2) << each.words[0] << " " << each.words[2];
    for (const std::string& text : each.told) EXPECT_THAT(ended.err, HasSubstr(text));
  }
}

TEST(BackendModes, DefaultsAndWhatABackendDoesAreTaken) {
  EXPECT_EQ(validate({"--backend", "cpu-stub"}).exit_code, 0);
  EXPECT_EQ(validate({"--backend", "cpu-stub", "--quantize", "none", "--pack", "never",
                      "--matmul-precision", "highest", "--dtype", "bf16"})
                .exit_code,
            0);
  EXPECT_EQ(
      validate({"--quantize", "int8", "--pack", "always", "--matmul-precision", "high"}).exit_code,
      0);
  EXPECT_EQ(validate({"--dtype", "bf16", "--level", "eager"}).exit_code, 0);
  EXPECT_EQ(validate({"--dtype", "bf16", "--quantize", "int8", "--pack", "always"}).exit_code, 0);
}

TEST(BackendModes, AreListed) {
  Ended text = run_program({"backends"});
  EXPECT_THAT(text.out, HasSubstr("quantize auto, none, int8"));
  for (const Json& backend : parse_json(run_program({"backends", "--json"}).out, "stdout")) {
    if (!backend["available"].get<bool>()) continue;
    EXPECT_FALSE(backend["modes"].empty()) << backend["name"];
    for (const char* field :
         {"dtype_options", "quantize_options", "pack_options", "matmul_precision_options"})
      EXPECT_TRUE(backend[field].is_array()) << field;
  }
}

}  // namespace
}  // namespace omnirt::testing
