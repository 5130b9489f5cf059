#include "io/scaled_tensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/error.hpp"
#include "io/safetensors_writer.hpp"
#include "io/sharded.hpp"
#include "io/temp_folder.hpp"
#include "source_paths.hpp"

namespace omnirt::io {
namespace {

using omnirt::testing::message_of;
using omnirt::testing::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::filesystem::path scaled_golden(const std::string& name) {
  return source_path("tests/goldens/scaled") / (name + ".safetensors");
}

std::vector<float> widened(const FoundTensor& tensor) {
  std::vector<float> numbers(*tensor_bytes(Dtype::u8, tensor.entry->shape));
  tensor.entry->encoding->widen(tensor.data(), 0, numbers);
  return numbers;
}

class Scaled : public ::testing::TestWithParam<const char*> {};

// To the bit: the reference rounds the same single products. A rotation is a sum, whose order the
// reference leaves to its library, so that the last bits of fp32 differ.
TEST_P(Scaled, StandsForTheNumbersThatTheReferenceMakesOfIt) {
  auto files = TensorFiles::open_file(scaled_golden(GetParam()));
  auto expected = SafetensorsFile::open(scaled_golden(std::string(GetParam()) + "_numbers"));
  for (const TensorEntry& entry : expected->entries()) {
    SCOPED_TRACE(entry.name);
    auto found = files.find(entry.name);
    ASSERT_TRUE(found && found->entry->encoding);
    EXPECT_EQ(found->entry->shape, entry.shape);
    std::vector<float> numbers = widened(*found), wanted(numbers.size());
    std::memcpy(wanted.data(), expected->data(entry).data(), entry.bytes);
    const float tolerance = found->entry->stored_as() == "int8 convrot" ? 2e-6F : 0;
    for (size_t i = 0; i < numbers.size(); ++i)
      ASSERT_LE(std::abs(numbers[i] - wanted[i]), tolerance) << i;
  }
}

TEST_P(Scaled, HasRowsThatCanBeWidenedAlone) {
  auto files = TensorFiles::open_file(scaled_golden(GetParam()));
  for (const std::string& name : files.names()) {
    FoundTensor tensor = *files.find(name);
    if (!tensor.entry->encoding) continue;
    const Encoding& encoding = *tensor.entry->encoding;
    std::vector<float> whole = widened(tensor), row(encoding.unit());
    size_t first = whole.size() - row.size();
    encoding.widen(tensor.data().subspan(encoding.bytes(first)), first, row);
    EXPECT_TRUE(std::ranges::equal(row, std::span(whole).subspan(first))) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, Scaled,
                         ::testing::Values("old_scaled", "comfy_fp8", "comfy_metadata", "mxfp8",
                                           "nvfp4", "nvfp4_of_diffusers", "fp8_by_row",
                                           "fp8_in_blocks", "int8", "awq"),
                         [](const auto& info) { return std::string(info.param); });

TEST(ScaledTensors, ScalesAreNoTensorsOfTheirOwn) {
  auto files = TensorFiles::open_file(scaled_golden("comfy_fp8"));
  EXPECT_THAT(files.names(), ElementsAre("a.weight", "b.weight", "c.weight"));
  EXPECT_EQ(files.find("a.weight")->entry->stored_as(), "fp8 scaled");
  EXPECT_EQ(files.find("b.weight")->entry->stored_as(), "fp8_e5m2 scaled");
  EXPECT_EQ(files.find("c.weight")->entry->stored_as(), "fp32");
}

// ------------------------------------------------------------------------------ what is refused

// A file with these tensors, zeros all; of `comfy_quant` the text.
class ScaledFile {
 public:
  ScaledFile& add(const std::string& name, Dtype dtype, std::vector<int64_t> shape) {
    texts_.emplace_back(*tensor_bytes(dtype, shape), '\0');
    entries_.push_back({name, dtype, std::move(shape), {}});
    return *this;
  }
  ScaledFile& json(const std::string& name, const std::string& text) {
    texts_.push_back(text);
    entries_.push_back({name, Dtype::u8, {static_cast<int64_t>(text.size())}, {}});
    return *this;
  }
  std::string refused(const FileMetadata& metadata = {}) {
    for (size_t i = 0; i < entries_.size(); ++i)
      entries_[i].bytes = std::as_bytes(std::span(texts_[i]));
    TempFolder temp;
    write_safetensors(temp / "a.safetensors", entries_, metadata);
    return message_of<InvalidRequest>([&] { TensorFiles::open_file(temp / "a.safetensors"); });
  }

 private:
  std::vector<std::string> texts_;
  std::vector<TensorView> entries_;
};

TEST(ScaledTensors, AScaleThatIsMissingIsNamed) {
  EXPECT_THAT(ScaledFile()
                  .add("scaled_fp8", Dtype::f8_e4m3, {0})
                  .add("l.a.weight", Dtype::f8_e4m3, {2, 2})
                  .refused(),
              AllOf(HasSubstr("tensor 'l.a.weight'"), HasSubstr("'l.a.weight_scale' is missing")));
  EXPECT_THAT(ScaledFile()
                  .add("a.weight", Dtype::u8, {2, 8})
                  .add("a.weight_scale", Dtype::f8_e4m3, {128, 4})
                  .json("a.comfy_quant", R"({"format": "nvfp4"})")
                  .refused(),
              HasSubstr("'a.weight_scale_2' is missing"));
}

TEST(ScaledTensors, AScaleThatNothingTakesIsNamed) {
  EXPECT_THAT(ScaledFile()
                  .add("a.weight", Dtype::f32, {2, 2})
                  .add("a.weight_scale", Dtype::f32, {})
                  .refused(),
              AllOf(HasSubstr("tensor 'a.weight_scale'"), HasSubstr("superfluous")));
  EXPECT_THAT(ScaledFile().add("b.scale_weight", Dtype::f32, {}).refused(),
              HasSubstr("there is no 'b.weight'"));
  EXPECT_THAT(ScaledFile().json("b.comfy_quant", R"({"format": "float8_e4m3fn"})").refused(),
              HasSubstr("the file has no such layer"));
}

TEST(ScaledTensors, AScaleOfAnotherShapeOrTypeIsNamed) {
  EXPECT_THAT(ScaledFile()
                  .add("a.weight", Dtype::f8_e4m3, {4, 2})
                  .add("a.weight_scale", Dtype::f32, {2})
                  .refused(),
              AllOf(HasSubstr("tensor 'a.weight_scale'"), HasSubstr("[2]; one number, or [4]")));
  EXPECT_THAT(ScaledFile()
                  .add("a.weight", Dtype::f8_e4m3, {4, 64})
                  .add("a.weight_scale", Dtype::u8, {4, 2})
                  .json("a.comfy_quant", R"({"format": "mxfp8"})")
                  .refused(),
              HasSubstr("mis-shaped: [4, 2]; [128, 4] is expected"));
  EXPECT_THAT(ScaledFile()
                  .add("a.weight", Dtype::f16, {4, 2})
                  .add("a.weight_scale", Dtype::f32, {})
                  .json("a.comfy_quant", R"({"format": "float8_e4m3fn"})")
                  .refused(),
              HasSubstr("said to be float8_e4m3fn, and is stored as F16"));
  EXPECT_THAT(ScaledFile()
                  .add("a.weight", Dtype::i8, {4, 32})
                  .add("a.weight_scale", Dtype::f32, {4})
                  .json("a.comfy_quant",
                        R"({"format": "int8_tensorwise", "convrot": true, "convrot_groupsize": 8})")
                  .refused(),
              HasSubstr("a power of 4 that divides the 32 columns"));
}

TEST(ScaledTensors, OtherLayoutsAreRefusedByName) {
  EXPECT_THAT(ScaledFile()
                  .add("a.qweight", Dtype::i8, {2, 2})
                  .add("a.wscales", Dtype::f16, {1, 2})
                  .refused(),
              AllOf(HasSubstr("Nunchaku"), HasSubstr("bf16, fp8 or GGUF")));
  EXPECT_THAT(ScaledFile()
                  .add("a.weight", Dtype::u8, {2, 1})
                  .add("a.weight.quant_state.bitsandbytes__nf4", Dtype::u8, {4})
                  .refused(),
              HasSubstr("bitsandbytes"));
  EXPECT_THAT(
      ScaledFile().add("a.weight", Dtype::u8, {2, 1}).add("a.scale", Dtype::f32, {2, 1}).refused(),
      HasSubstr("SDNQ"));
  EXPECT_THAT(ScaledFile()
                  .add("a.weight", Dtype::i8, {2, 2})
                  .add("a.weight_scale", Dtype::f32, {2})
                  .json("a.comfy_quant", R"({"format": "convrot_w4a4"})")
                  .refused(),
              HasSubstr("convrot_w4a4"));
}

TEST(ScaledTensors, MetadataMustNameLayersThatAreThere) {
  EXPECT_THAT(ScaledFile()
                  .add("a.weight", Dtype::f8_e4m3, {2, 2})
                  .refused({{"_quantization_metadata",
                             R"({"layers": {"b": {"format": "float8_e4m3fn"}}})"}}),
              AllOf(HasSubstr("b"), HasSubstr("the file has no such layer")));
  EXPECT_THAT(ScaledFile()
                  .add("a.weight", Dtype::f8_e4m3, {2, 2})
                  .refused({{"_quantization_metadata", R"({"layers": 3})"}}),
              HasSubstr("an object with 'layers'"));
}

}  // namespace
}  // namespace omnirt::io
