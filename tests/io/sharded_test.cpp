#include "io/sharded.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/error.hpp"
#include "base/json.hpp"
#include "io/file.hpp"
#include "io/safetensors_writer.hpp"
#include "io/temp_folder.hpp"

namespace omnirt::io {
namespace {

using omnirt::testing::message_of;
using omnirt::testing::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<std::string> bases{"diffusion_pytorch_model", "model"};

// A file with a tensor of one byte for each of the names.
void write_tensors(const std::filesystem::path& path, const std::vector<std::string>& names) {
  const std::string byte = "x";
  std::vector<TensorView> tensors;
  for (const std::string& name : names)
    tensors.push_back({name, Dtype::u8, {1}, std::as_bytes(std::span(byte))});
  write_safetensors(path, tensors);
}

void write_index(const std::filesystem::path& path, const std::map<std::string, std::string>& map) {
  write_file(path, Json{{"metadata", {{"total_size", 2}}}, {"weight_map", map}}.dump());
}

// Which tensor the chosen file holds: the tests give each file one that identifies it.
std::string chosen(const TempFolder& folder, const std::string& variant = "") {
  return TensorFiles::open(folder.path(), bases, variant).names().at(0);
}

std::string refused(const TempFolder& folder, const std::string& variant = "") {
  return message_of<InvalidFile>([&] { TensorFiles::open(folder.path(), bases, variant); });
}

std::string refused_index(const std::string& index) {
  TempFolder folder;
  write_file(folder / "model.safetensors.index.json", index);
  return refused(folder);
}

// ------------------------------------------------------------------------------ which file

TEST(WeightChoice, TakesTheFirstBaseThatIsThere) {
  TempFolder folder;
  write_tensors(folder / "model.safetensors", {"second"});
  EXPECT_EQ(chosen(folder), "second");
  write_tensors(folder / "diffusion_pytorch_model.safetensors", {"first"});
  EXPECT_EQ(chosen(folder), "first");
}

TEST(WeightChoice, TakesTheVariantThatIsAskedFor) {
  TempFolder folder;
  write_tensors(folder / "model.safetensors", {"plain"});
  write_tensors(folder / "model.fp16.safetensors", {"half"});
  EXPECT_EQ(chosen(folder, "fp16"), "half");
  EXPECT_EQ(TensorFiles::open(folder.path(), bases, "fp16").variant(), "fp16");
}

TEST(WeightChoice, TakesThePlainFileWhenNoneIsAskedFor) {
  TempFolder folder;
  write_tensors(folder / "model.safetensors", {"plain"});
  write_tensors(folder / "model.fp16.safetensors", {"half"});
  EXPECT_EQ(chosen(folder), "plain");
}

TEST(WeightChoice, FallsBackToThePlainFileAndSaysSo) {
  TempFolder folder;
  write_tensors(folder / "model.safetensors", {"plain"});
  EXPECT_EQ(TensorFiles::open(folder.path(), bases, "fp16").variant(), "");
}

TEST(WeightChoice, TakesTheOnlyVariantThatIsThere) {
  TempFolder folder;
  write_tensors(folder / "model.fp16.safetensors", {"half"});
  EXPECT_EQ(chosen(folder), "half");
  EXPECT_EQ(TensorFiles::open(folder.path(), bases).variant(), "fp16");
}

TEST(WeightChoice, RefusesAnotherVariantThanTheOneAskedFor) {
  TempFolder folder;
  write_tensors(folder / "model.fp16.safetensors", {"half"});
  EXPECT_THAT(refused(folder, "bf16"),
              AllOf(HasSubstr("variant 'bf16'"), HasSubstr("there are: model.fp16.safetensors")));
}

TEST(WeightChoice, PrefersFullPrecisionAmongVariants) {
  TempFolder folder;
  write_tensors(folder / "model.fp16.safetensors", {"half"});
  write_tensors(folder / "model.fp32.safetensors", {"full"});
  EXPECT_EQ(chosen(folder), "full");
}

TEST(WeightChoice, RefusesSeveralVariantsWithoutAChoice) {
  TempFolder folder;
  write_tensors(folder / "model.fp16.safetensors", {"half"});
  write_tensors(folder / "model.bf16.safetensors", {"brain"});
  EXPECT_THAT(refused(folder), AllOf(HasSubstr("several variants"),
                                     HasSubstr("model.bf16.safetensors, model.fp16.safetensors")));
}

TEST(WeightChoice, RefusesPicklesWithTheWayToConvertThem) {
  TempFolder folder;
  write_file(folder / "diffusion_pytorch_model.fp16.bin", std::string_view("x"));
  EXPECT_THAT(refused(folder), AllOf(HasSubstr("diffusion_pytorch_model.fp16.bin"),
                                     HasSubstr("convert it in Python")));
}

TEST(WeightChoice, SaysWhatIsExpectedAndWhatIsThere) {
  TempFolder folder;
  EXPECT_THAT(refused(folder),
              HasSubstr("expected diffusion_pytorch_model.safetensors or model.safetensors"));
  write_tensors(folder / "other.safetensors", {"x"});
  EXPECT_THAT(refused(folder), HasSubstr("there are: other.safetensors"));
}

TEST(WeightChoice, NamesAMissingFolder) {
  EXPECT_THAT(message_of<InvalidFile>([] { TensorFiles::open("gone/unet", bases); }),
              AllOf(HasSubstr("gone/unet"), HasSubstr("there is no such folder")));
}

TEST(WeightChoice, RefusesAFileInPlaceOfAFolder) {
  TempFolder folder;
  write_file(folder / "unet", std::string_view("x"));
  EXPECT_THAT(message_of<InvalidFile>([&] { TensorFiles::open(folder / "unet", bases); }),
              HasSubstr("this is a file"));
}

// ------------------------------------------------------------------------------ shards

class EveryIndexName : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(TensorFiles, EveryIndexName,
                         ::testing::Values("model.safetensors.index.fp16.json",
                                           "model.safetensors.fp16.index.json",
                                           "model.fp16.safetensors.index.json"));

TEST_P(EveryIndexName, IsFoundAsTheVariantsIndex) {
  TempFolder folder;
  write_tensors(folder / "model.fp16-00001-of-00001.safetensors", {"half"});
  write_index(folder / GetParam(), {{"half", "model.fp16-00001-of-00001.safetensors"}});
  TensorFiles files = TensorFiles::open(folder.path(), bases);
  EXPECT_EQ(files.variant(), "fp16");
  EXPECT_TRUE(files.find("half"));
}

TEST(TensorFiles, FindsATensorInItsShard) {
  TempFolder folder;
  write_tensors(folder / "s1.safetensors", {"a", "c"});
  write_tensors(folder / "s2.safetensors", {"b"});
  write_index(folder / "model.safetensors.index.json",
              {{"a", "s1.safetensors"}, {"b", "s2.safetensors"}, {"c", "s1.safetensors"}});
  TensorFiles files = TensorFiles::open(folder.path(), bases);
  EXPECT_EQ(files.find("b")->file->path().filename(), "s2.safetensors");
  EXPECT_EQ(files.find("b")->data().size(), 1U);
  EXPECT_FALSE(files.find("d"));
  EXPECT_THAT(files.names(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(files.total_bytes(), 3U);
  EXPECT_EQ(files.files().size(), 2U);
}

TEST(TensorFiles, PrefersTheIndexAsDiffusersAndTheFileAsTransformers) {
  for (const auto& [base, expected] : std::map<std::string, std::string>{
           {"diffusion_pytorch_model", "shard"}, {"model", "single"}}) {
    TempFolder folder;
    write_tensors(folder / (base + ".safetensors"), {"single"});
    write_tensors(folder / "s.safetensors", {"shard"});
    write_index(folder / (base + ".safetensors.index.json"), {{"shard", "s.safetensors"}});
    EXPECT_EQ(chosen(folder), expected);
  }
}

TEST(TensorFiles, ListsMissingShards) {
  TempFolder folder;
  write_tensors(folder / "s1.safetensors", {"a"});
  write_index(folder / "model.safetensors.index.json",
              {{"a", "s1.safetensors"}, {"b", "s2.safetensors"}});
  EXPECT_THAT(refused(folder), AllOf(HasSubstr("1 of the 2 shards are missing: 's2.safetensors'"),
                                     HasSubstr("index.json")));
}

TEST(TensorFiles, ListsTensorsThatAreNotInTheirShard) {
  TempFolder folder;
  write_tensors(folder / "s.safetensors", {"a"});
  write_index(folder / "model.safetensors.index.json",
              {{"a", "s.safetensors"}, {"b", "s.safetensors"}});
  EXPECT_THAT(refused(folder), HasSubstr("not in the shards that it names: 'b' in s.safetensors"));
}

TEST(TensorFiles, ListsTensorsThatAreNotInTheIndex) {
  TempFolder folder;
  write_tensors(folder / "s.safetensors", {"a", "b"});
  write_index(folder / "model.safetensors.index.json", {{"a", "s.safetensors"}});
  EXPECT_THAT(refused(folder), HasSubstr("not listed in the index: 'b' in s.safetensors"));
}

TEST(TensorFiles, RefusesATensorThatIsInTwoShards) {
  TempFolder folder;
  write_tensors(folder / "s1.safetensors", {"a"});
  write_tensors(folder / "s2.safetensors", {"a", "b"});
  write_index(folder / "model.safetensors.index.json",
              {{"a", "s1.safetensors"}, {"b", "s2.safetensors"}});
  EXPECT_THAT(refused(folder), HasSubstr("'a' in s2.safetensors"));
}

TEST(TensorFiles, NamesABrokenShard) {
  TempFolder folder;
  write_file(folder / "s.safetensors", std::string_view("this is text"));
  write_index(folder / "model.safetensors.index.json", {{"a", "s.safetensors"}});
  EXPECT_THAT(refused(folder),
              AllOf(HasSubstr("s.safetensors"), HasSubstr("text that starts with")));
}

TEST(ShardIndex, RefusesAShardOutsideItsFolder) {
  for (const char* shard : {"../s.safetensors", "/s.safetensors", "a/s.safetensors",
                            "a\\\\s.safetensors", "a\\u0000.safetensors"}) {
    EXPECT_THAT(refused_index(fmt::format(R"({{"weight_map":{{"a":"{}"}}}})", shard)),
                HasSubstr("not the name of a .safetensors file"))
        << shard;
  }
}

TEST(ShardIndex, RefusesAShardThatIsAPickle) {
  EXPECT_THAT(refused_index(R"({"weight_map":{"a":"s.bin"}})"), HasSubstr("convert it in Python"));
}

TEST(ShardIndex, RefusesAMissingOrEmptyWeightMap) {
  EXPECT_THAT(refused_index("{}"), HasSubstr("'weight_map'"));
  EXPECT_THAT(refused_index(R"({"weight_map":{}})"), HasSubstr("missing or empty"));
}

TEST(ShardIndex, RefusesATensorThatIsThereTwice) {
  EXPECT_THAT(refused_index(R"({"weight_map":{"a":"s.safetensors","a":"t.safetensors"}})"),
              HasSubstr("'a' is there twice"));
}

TEST(ShardIndex, RefusesMalformedJson) {
  EXPECT_THAT(refused_index("[]"), HasSubstr("'{' expected"));
  EXPECT_THAT(refused_index(R"({"weight_map":{"a":1}})"), HasSubstr("whose values are file names"));
  EXPECT_THAT(refused_index(R"({"metadata":nonsense})"), HasSubstr("a value expected"));
}

TEST(ShardIndex, RefusesDeepNesting) {
  EXPECT_THAT(refused_index(R"({"metadata":)" + std::string(100000, '[')),
              HasSubstr("nested deeper than 64 levels"));
}

TEST(ShardIndex, RefusesTooManyShards) {
  std::string map;
  for (int i = 0; i < 5000; ++i) map += fmt::format(R"("{0}":"{0}.safetensors",)", i);
  EXPECT_THAT(refused_index(R"({"weight_map":{)" + map), HasSubstr("more than 4096 shards"));
}

TEST(TensorFiles, RefusesAPickleByItsPath) {
  TempFolder folder;
  write_file(folder / "v1.ckpt", std::string_view("x"));
  EXPECT_THAT(message_of<InvalidFile>([&] { TensorFiles::open_file(folder / "v1.ckpt"); }),
              AllOf(HasSubstr("v1.ckpt"), HasSubstr("convert it in Python")));
}

TEST(TensorFiles, NamesAMissingFile) {
  EXPECT_THAT(message_of<InvalidFile>([] { TensorFiles::open_file("gone.ckpt"); }),
              HasSubstr("there is no such file"));
}

}  // namespace
}  // namespace omnirt::io
