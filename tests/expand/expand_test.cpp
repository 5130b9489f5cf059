#include "expand/expand.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <zlib.h>

#include <cstring>
#include <fstream>

#include "base/error.hpp"
#include "base/json.hpp"
#include "expand/normal_stream.hpp"
#include "expand/packed_file.hpp"
#include "io/file.hpp"
#include "io/sha256.hpp"

namespace omnirt::testing {
namespace fs = std::filesystem;
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string bytes_of(const void* data, size_t size) {
  return {static_cast<const char*>(data), size};
}

std::string packed_of(const std::string& inner) {
  std::string stream(compressBound(inner.size()), '\0');
  uLongf size = stream.size();
  compress(reinterpret_cast<Bytef*>(stream.data()), &size,
           reinterpret_cast<const Bytef*>(inner.data()), inner.size());
  const uint64_t whole = inner.size();
  return std::string(packed_magic) + bytes_of(&whole, sizeof whole) + stream.substr(0, size);
}

std::string sum_of(const std::string& content) {
  io::Sha256 sum;
  sum.add(content);
  return sum.hex();
}

std::string packed(const Json& parts, const std::string& payload, const std::string& sum) {
  const std::string header = Json{{"sha256", sum}, {"parts", parts}}.dump();
  const auto size = static_cast<uint32_t>(header.size());
  return packed_of(bytes_of(&size, sizeof size) + header + payload);
}

std::string packed_text(const std::string& text) {
  return packed({{"bytes", text.size(), 1}}, text, sum_of(text));
}

std::string no_file(const std::string& path) {
  throw InvalidFile({path, "", "not there", ""});
}

std::string refusal_of(const std::string& file, const std::string& path = "a") {
  try {
    unpack(file, path, no_file);
  } catch (const InvalidFile& error) {
    return error.what();
  }
  return "";
}

class ExpandGoldens : public ::testing::Test {
 protected:
  ExpandGoldens() {
    std::string name = (fs::temp_directory_path() / "omnirt-expand-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("cannot make " + name);
    folder_ = name;
    fs::create_directories(from() / "deep");
    put(from() / "deep/plain.json", "{}");
    put(from() / "text.packed", packed_text("packed text"));
  }
  ~ExpandGoldens() override { fs::remove_all(folder_); }

  static void put(const fs::path& file, const std::string& content) {
    std::ofstream(file, std::ios::binary) << content;
  }
  static std::string get(const fs::path& file) { return io::read_file(file, 1 << 20); }
  Expanded expand() const { return expand_goldens(from(), to()); }
  fs::path from() const { return folder_ / "from"; }
  fs::path to() const { return folder_ / "to"; }

 private:
  fs::path folder_;
};

TEST_F(ExpandGoldens, UnpacksOrCopiesEachFileOnce) {
  EXPECT_EQ(expand().written, 2U);
  EXPECT_EQ(get(to() / "text"), "packed text");
  EXPECT_EQ(get(to() / "deep/plain.json"), "{}");
  EXPECT_EQ(expand().written, 0U);
}

TEST_F(ExpandGoldens, FollowsChangesOfItsSource) {
  expand();
  put(from() / "text.packed", packed_text("another"));
  fs::last_write_time(from() / "text.packed",
                      fs::file_time_type::clock::now() + std::chrono::hours(1));
  fs::remove(from() / "deep/plain.json");
  EXPECT_EQ(expand().written, 1U);
  EXPECT_EQ(get(to() / "text"), "another");
  EXPECT_FALSE(fs::exists(to() / "deep/plain.json"));
}

TEST_F(ExpandGoldens, KeepsWhatScriptsWroteUntilItIsPacked) {
  expand();
  put(to() / "text", "newer");
  fs::last_write_time(to() / "text", fs::file_time_type::clock::now() + std::chrono::hours(1));
  put(to() / "new.json", "[]");
  EXPECT_THAT(expand().kept, ElementsAre("new.json", "text"));
  EXPECT_EQ(get(to() / "text"), "newer");
  fs::remove(to() / "text");
  fs::remove(to() / "new.json");
  EXPECT_THAT(expand().kept, IsEmpty());
  EXPECT_EQ(get(to() / "text"), "packed text");
}

TEST_F(ExpandGoldens, AnInterruptedExpansionIsRedone) {
  fs::create_directories(to());
  put(to() / "text.partial", "pack");
  expand();
  EXPECT_EQ(get(to() / "text"), "packed text");
  EXPECT_FALSE(fs::exists(to() / "text.partial"));
}

TEST_F(ExpandGoldens, ADamagedFileLeavesNothing) {
  put(from() / "text.packed", packed({{"bytes", 4, 1}}, "text", sum_of("Text")));
  EXPECT_THROW(expand(), InvalidFile);
  EXPECT_FALSE(fs::exists(to() / "text"));
  put(from() / "text.packed", packed_text("text"));
  expand();
  EXPECT_EQ(get(to() / "text"), "text");
}

TEST_F(ExpandGoldens, AFileIsEitherPackedOrNot) {
  put(from() / "text", "packed text");
  EXPECT_THROW(expand(), InvalidFile);
}

TEST(PackedFile, NamesWhatIsWrongWithIt) {
  const std::string good = packed_text("a text that is long enough");
  EXPECT_EQ(refusal_of(good), "");
  EXPECT_THAT(refusal_of("OMNIGLD2" + good.substr(8)), HasSubstr("a.packed: not a packed file"));
  EXPECT_THAT(refusal_of(good.substr(0, 12)), HasSubstr("not a packed file"));
  EXPECT_THAT(refusal_of(good.substr(0, good.size() - 9)), HasSubstr("zlib stream is damaged"));
  std::string huge = good;
  huge[13] = 1;
  EXPECT_THAT(refusal_of(huge), HasSubstr("the limit is"));
  EXPECT_THAT(refusal_of(packed_of("\xff\xff\xff\xff{}")), HasSubstr("header exceeds the file"));
  EXPECT_THAT(refusal_of(packed_of("{")), HasSubstr("no header"));
}

TEST(PackedFile, PartsStayInTheFile) {
  const auto refused = [](const Json& parts) { return refusal_of(packed(parts, "1234", "")); };
  EXPECT_THAT(refused({{"bytes", 5, 1}}), HasSubstr("exceeds the file"));
  EXPECT_THAT(refused({{"bytes", 4, 0}}), HasSubstr("no values of 0 bytes"));
  EXPECT_THAT(refused({{"bytes", 4, 3}}), HasSubstr("no values of 3 bytes"));
  EXPECT_THAT(refused({{"bytes", 9, 9}}), HasSubstr("no values of 9 bytes"));
  EXPECT_THAT(refused({{"bytes", 3, 1}}), HasSubstr("1 bytes belong to no part"));
  EXPECT_THAT(refused({{"bytes", 4, 1}}), HasSubstr("another SHA-256"));
  EXPECT_THAT(refused({{"bytes", -1, 1}}), HasSubstr("exceeds the file"));
  EXPECT_THAT(refused({{"bytes", "x", 1}}), HasSubstr("malformed header"));
  EXPECT_THAT(refused({{"zeros", 4, 1}}), HasSubstr("unknown kind of part zeros"));
  EXPECT_THAT(refused({{"unorm16", 2, 0}}), HasSubstr("without columns"));
  EXPECT_THAT(refused({{"normal", 1, "F32", 1, 0, 1.0, 1, 0}}), HasSubstr("draws too few"));
  EXPECT_THAT(refused({{"copy", "b", 0, 4}}), HasSubstr("copies from b, which comes later"));
}

TEST(PackedFile, CopiesFromEarlierFilesAndItself) {
  const std::string file =
      packed({{"bytes", 3, 1}, {"copy", "earlier", 1, 2}, {"copy", "file", 0, 2}}, "abc",
             sum_of("abcxyab"));
  const auto earlier = [](const std::string& path) { return path == "earlier" ? "wxyz" : ""; };
  EXPECT_EQ(unpack(file, "file", earlier), "abcxyab");
}

TEST(PackedFile, ImagesAreFloatsOf16Bits) {
  const float expected[] = {0.0F, 1.0F, 32768.0F / 65535, 32767.0F / 65535};
  // 0; 65535 - 0 = -1; 32768 - 0 = -32768; 32767 - (32768 + 65535 - 0) = 0 of 16 bits.
  const std::string folded("\x00\x01\xff\x00\x00\x00\xff\x00", 8);
  const std::string made = bytes_of(expected, sizeof expected);
  EXPECT_EQ(unpack(packed({{"unorm16", 4, 2}}, folded, sum_of(made)), "a", no_file), made);
}

// torch.randn(20, generator=torch.Generator().manual_seed(7)), whose last 16 values are drawn
// again.
TEST(NormalStream, DrawsTorchsNumbers) {
  const float torchs[] = {-0.820134521F, 0.395631164F,  0.898908496F,   -1.38840389F,
                          0.198445052F,  0.782072663F,  1.03910768F,    -0.724510729F,
                          -0.848908603F, -1.21692944F,  -0.0810215846F, 1.36148512F,
                          -2.0614779F,   0.674100697F,  -1.32334578F,   -1.35976899F,
                          -0.866701603F, -0.564006686F, -2.05646253F,   -0.356722534F};
  const auto made = NormalStream(7).values(0, std::size(torchs));
  for (size_t i = 0; i < std::size(torchs); ++i) EXPECT_NEAR(made[i], torchs[i], 1e-6) << i;
}

TEST(NormalStream, APartStartsAtAnyDraw) {
  const auto whole = NormalStream(3).values(0, 64);
  const auto part = NormalStream(3).values(16, 32);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 16));
}

// The bits are part of the packed form: another compiler or processor must make them, too.
TEST(NormalStream, HasTheSameBitsEverywhere) {
  const auto values = NormalStream(2026).values(0, 100'000);
  EXPECT_EQ(sum_of(bytes_of(values.data(), values.size() * sizeof(float))),
            "f9a8d9a0f3520fa12d6b8d95c2c474122f5c043c9da6df79a882c75ed533f125");
}

}  // namespace
}  // namespace omnirt::testing
