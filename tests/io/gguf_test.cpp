#include "io/gguf.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.hpp"
#include "io/file.hpp"
#include "io/ggml_types.hpp"
#include "io/safetensors.hpp"
#include "io/temp_folder.hpp"
#include "source_paths.hpp"

namespace omnirt::io {
namespace {

using omnirt::testing::message_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::filesystem::path golden(const char* name) {
  return source_path("tests/goldens/gguf") / name;
}

std::vector<float> numbers_of(const WeightFile& file, const TensorEntry& entry) {
  std::vector<float> numbers(*tensor_bytes(Dtype::u8, entry.shape));
  entry.encoding->widen(file.data(entry), 0, numbers);
  return numbers;
}

// ------------------------------------------------------------------------------ what is read

TEST(Gguf, EveryTypeIsDequantisedToTheBitAsTheReferenceDoes) {
  auto file = WeightFile::open(golden("types.gguf"));
  auto expected = SafetensorsFile::open(golden("types.safetensors"));
  EXPECT_EQ(file->entries().size(), ggml_types().size() + 1);
  for (const TensorEntry& entry : file->entries()) {
    SCOPED_TRACE(entry.name);
    const TensorEntry* other = expected->find(entry.name);
    ASSERT_TRUE(other);
    EXPECT_EQ(entry.shape, other->shape);
    auto bytes = expected->data(*other);
    if (!entry.encoding) {
      if (entry.name == "BF16") continue;  // a plain type here, whose floats are in the golden
      EXPECT_EQ(entry.dtype, other->dtype);
      EXPECT_TRUE(std::ranges::equal(file->data(entry), bytes));
      continue;
    }
    std::vector<float> numbers = numbers_of(*file, entry);
    ASSERT_EQ(numbers.size() * sizeof(float), bytes.size());
    EXPECT_EQ(std::memcmp(numbers.data(), bytes.data(), bytes.size()), 0);
  }
}

TEST(Gguf, PartsOfATensorAreWidenedAlone) {
  auto file = WeightFile::open(golden("types.gguf"));
  const TensorEntry& entry = *file->find("Q4_K");
  std::vector<float> whole = numbers_of(*file, entry), part(256);
  entry.encoding->widen(file->data(entry).subspan(entry.encoding->bytes(512), 144), 512, part);
  EXPECT_TRUE(std::ranges::equal(part, std::span(whole).subspan(512, 256)));
}

TEST(Gguf, MetadataAreTextsAndListsAreReadOver) {
  auto file = WeightFile::open(golden("types.gguf"));
  EXPECT_EQ(file->metadata().at("general.architecture"), "flux");
  EXPECT_EQ(file->metadata().at("a.float"), "0.25");
  EXPECT_EQ(file->metadata().at("a.bool"), "true");
  EXPECT_FALSE(file->metadata().contains("a.words"));
}

TEST(Gguf, ATensorsSizesAreTheReverseOfTheFiles) {
  auto file = WeightFile::open(golden("types.gguf"));
  EXPECT_EQ(file->find("F32")->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(file->find("filter")->shape, (std::vector<int64_t>{32, 16, 3, 1}));
  EXPECT_EQ(file->find("filter")->stored_as(), "q8_0");
  EXPECT_EQ(file->find("F16")->stored_as(), "fp16");
}

// ------------------------------------------------------------------------------ what is refused

class Bytes {
 public:
  Bytes() { text_ = "GGUF"; }
  template <typename T>
  Bytes& add(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Bytes& text(const std::string& value) {
    add<uint64_t>(value.size());
    text_ += value;
    return *this;
  }
  // Version 3, and how many tensors and keys follow.
  Bytes& counts(uint64_t tensors, uint64_t keys) { return add<uint32_t>(3).add(tensors).add(keys); }
  // Two-dimensional, F32.
  Bytes& tensor(const std::string& name, uint64_t columns, uint64_t rows, uint64_t offset,
                uint32_t type = 0) {
    return text(name).add<uint32_t>(2).add(columns).add(rows).add(type).add(offset);
  }
  Bytes& data(size_t count) {
    text_.resize((text_.size() + 31) / 32 * 32 + count);
    return *this;
  }
  std::string refused() const {
    return message_of<InvalidRequest>([&] { parse(); });
  }
  GgufHeader parse() const {
    return GgufHeader::parse(std::as_bytes(std::span(text_)), text_.size(), "f");
  }

 private:
  std::string text_;
};

TEST(Gguf, ALegalFileIsRead) {
  GgufHeader header = Bytes().counts(1, 0).tensor("a", 4, 2, 0).data(32).parse();
  EXPECT_EQ(header.entries.at(0).shape, (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(header.entries.at(0).bytes, 32);
}

TEST(Gguf, OtherVersionsAreRefusedByName) {
  EXPECT_THAT(Bytes().add<uint32_t>(1).refused(), HasSubstr("version 1; 2 and 3 are read"));
  EXPECT_THAT(Bytes().add<uint32_t>(3U << 24).refused(), HasSubstr("big-endian"));
}

TEST(Gguf, CountsBeyondTheLimitsAreRefusedBeforeTheyAreUsed) {
  EXPECT_THAT(Bytes().counts(~uint64_t{0}, 0).refused(), HasSubstr("the limit is 100000"));
  EXPECT_THAT(Bytes().counts(0, uint64_t{1} << 40).refused(), HasSubstr("the limit is 65536"));
  EXPECT_THAT(Bytes().counts(0, 1).add(~uint64_t{0}).refused(), HasSubstr("a key of"));
  EXPECT_THAT(
      Bytes().counts(0, 1).text("k").add<uint32_t>(9).add<uint32_t>(4).add(~uint64_t{0}).refused(),
      HasSubstr("'k' has 18446744073709551615 values"));
  EXPECT_THAT(Bytes().counts(1, 0).text("a").add<uint32_t>(5).refused(), HasSubstr("5 sizes"));
}

TEST(Gguf, AFileThatEndsTooEarlyIsRefused) {
  EXPECT_THAT(Bytes().counts(1, 0).refused(), HasSubstr("the file ends after"));
  EXPECT_THAT(
      Bytes().counts(1, 0).tensor("a", 4, 2, 0).data(31).refused(),
      AllOf(HasSubstr("tensor 'a'"), HasSubstr("32 bytes from 0 on"), HasSubstr("31 bytes")));
}

TEST(Gguf, SizesThatMultiplyBeyondAnyFileAreRefused) {
  EXPECT_THAT(
      Bytes().counts(1, 0).tensor("a", uint64_t{1} << 40, uint64_t{1} << 40, 0).data(8).refused(),
      HasSubstr("more than 2^63 elements"));
  EXPECT_THAT(Bytes().counts(1, 0).tensor("a", ~uint64_t{0}, 1, 0).data(8).refused(),
              HasSubstr("a size of"));
  // Empty, but its 2^59 columns of 32 bits are more than sizes may multiply to.
  EXPECT_THAT(Bytes().counts(1, 0).tensor("a", uint64_t{1} << 59, 0, 0).data(8).refused(),
              HasSubstr("more than 2^63 elements"));
}

TEST(Gguf, TensorsMustBeApartAlignedAndOfOneNameEach) {
  EXPECT_THAT(Bytes().counts(2, 0).tensor("a", 4, 4, 0).tensor("b", 4, 4, 32).data(128).refused(),
              AllOf(HasSubstr("tensor 'b'"), HasSubstr("overlap those of 'a'")));
  EXPECT_THAT(Bytes().counts(1, 0).tensor("a", 4, 2, 8).data(64).refused(),
              HasSubstr("no multiple of the alignment 32"));
  EXPECT_THAT(Bytes().counts(2, 0).tensor("a", 4, 2, 0).tensor("a", 4, 2, 32).data(64).refused(),
              HasSubstr("the name is there twice"));
}

TEST(Gguf, KeysMustDifferAndBeText) {
  EXPECT_THAT(Bytes().counts(0, 2).text("k").add<uint32_t>(7).add<uint8_t>(1).text("k").refused(),
              HasSubstr("the key 'k' is there twice"));
  EXPECT_THAT(Bytes().counts(0, 1).text("\xff").refused(), HasSubstr("not UTF-8"));
  EXPECT_THAT(Bytes().counts(0, 1).text("k").add<uint32_t>(13).refused(),
              HasSubstr("type 13 of the key 'k' is not known"));
  EXPECT_THAT(
      Bytes().counts(0, 1).text("k").add<uint32_t>(9).add<uint32_t>(9).add<uint64_t>(1).refused(),
      HasSubstr("a list of lists"));
}

TEST(Gguf, AlignmentsAreSmallPowersOfTwo) {
  for (uint32_t alignment : {0U, 24U, 1U << 30}) {
    EXPECT_THAT(
        Bytes().counts(0, 1).text("general.alignment").add<uint32_t>(4).add(alignment).refused(),
        HasSubstr("general.alignment is"));
  }
}

TEST(Gguf, TypesThatAreNotReadAreRefusedWithWhatToDo) {
  EXPECT_THAT(Bytes().counts(1, 0).tensor("a", 256, 1, 0, 15).data(300).refused(),
              AllOf(HasSubstr("number 15 of ggml's"), HasSubstr("convert the model")));
  EXPECT_THAT(Bytes().counts(1, 0).tensor("a", 40, 1, 0, 8).data(300).refused(),
              HasSubstr("rows of 40 elements, and Q8_0 has blocks of 32"));
}

TEST(Gguf, AShapeThatIsSaidMustFitItsTensor) {
  auto said = [](const std::string& name, int32_t rows) {
    return Bytes()
        .counts(1, 1)
        .text(gguf_shape_key + name)
        .add<uint32_t>(9)
        .add<uint32_t>(5)
        .add<uint64_t>(2)
        .add(rows)
        .add<int32_t>(2)
        .tensor("a", 4, 2, 0)
        .data(32)
        .refused();
  };
  EXPECT_THAT(said("a", 3), HasSubstr("says [3, 2]"));
  EXPECT_THAT(said("a", -4), HasSubstr("says [-4, 2]"));
  EXPECT_THAT(said("b", 4), HasSubstr("names a tensor that the file does not hold"));
}

}  // namespace
}  // namespace omnirt::io
