#include "io/sha256.hpp"

#include <gtest/gtest.h>

namespace omnirt::io {
namespace {

std::string digest(std::string_view text) {
  Sha256 sha;
  sha.add(text);
  return sha.hex();
}

// FIPS 180-4's examples.
TEST(Sha256, GivesTheStandardsDigests) {
  EXPECT_EQ(digest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(digest(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotCareHowTheBytesComeInPieces) {
  std::string text(300, 'x');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 26);
  for (size_t cut : {1, 55, 56, 63, 64, 65, 119, 128, 299}) {
    Sha256 sha;
    sha.add(std::string_view(text).substr(0, cut));
    sha.add(std::string_view(text).substr(cut));
    EXPECT_EQ(sha.hex(), digest(text)) << cut;
  }
}

}  // namespace
}  // namespace omnirt::io
