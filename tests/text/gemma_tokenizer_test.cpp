#include "text/gemma_tokenizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "io/file.hpp"
#include "text/support.hpp"

// Against transformers' GemmaTokenizer (tools/goldens/gemma.py), by a small vocabulary that is laid
// out as the published ones are.
namespace omnirt::text {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Ids = std::vector<int64_t>;

std::filesystem::path gemma_folder() {
  return source_path("tests/data/tokenizers/gemma");
}

const GemmaTokenizer& gemma() {
  static const GemmaTokenizer made = GemmaTokenizer::from_folder(gemma_folder());
  return made;
}

const Json& gemma_goldens() {
  static const Json all = golden("gemma.json");
  return all;
}

std::string gemma_file() {
  return io::read_file(gemma_folder() / "tokenizer.json", size_t{1} << 20);
}

Ids tokens_of(const GemmaTokenizer& tokenizer, const std::string& text) {
  TokenizedPrompt made = tokenizer.encode(text, "prompt", 4096);
  return {made.ids.begin(), made.ids.begin() + made.used};
}

TEST(GemmaTokenizer, GivesTheReferencesIds) {
  for (const Json& item : gemma_goldens()["texts"])
    EXPECT_EQ(tokens_of(gemma(), item["text"]), item["ids"].get<Ids>()) << item.dump();
}

// As the file's template has them, whatever the settings say.
TEST(GemmaTokenizer, FramesTextsAsTheReferenceDoes) {
  const Json config = io::read_json(gemma_folder() / "tokenizer_config.json");
  for (const Json& item : gemma_goldens()["frames"]) {
    Json changed = config;
    for (const auto& [name, value] : item["settings"].items()) {
      changed.erase(name);
      if (!value.is_null()) changed[name] = value;
    }
    const auto tokenizer = GemmaTokenizer::from_folder(gemma_folder(), changed);
    EXPECT_EQ(tokens_of(tokenizer, "the cat"), item["ids"].get<Ids>()) << item.dump();
  }
}

TEST(GemmaTokenizer, CutsAndPadsAsTheReferenceDoes) {
  for (const Json& item : gemma_goldens()["padded"]) {
    const Ids ids = item["ids"];
    TokenizedPrompt made =
        gemma().encode(item["text"].get<std::string>(), "prompt", static_cast<int64_t>(ids.size()));
    EXPECT_EQ(made.ids, ids) << item.dump();
    EXPECT_EQ(made.used, item["used"].get<int64_t>());
  }
}

TEST(GemmaTokenizer, QuotesWhatOfTheTextItselfDidNotFit) {
  const std::string before = "You are an assistant. ";
  const auto used = static_cast<int64_t>(tokens_of(gemma(), before + "the small cat").size());
  EXPECT_EQ(gemma().encode_after(before, "the small cat", "prompt", used).cut, "");
  EXPECT_EQ(gemma().encode_after(before, "the small cat", "prompt", used - 1).cut, "cat");
  EXPECT_EQ(gemma().encode_after(before, "the small cat", "prompt", 3).cut, "the small cat");
}

TEST(GemmaTokenizer, RefusesTextsThatAreNotUtf8) {
  EXPECT_THAT([] { gemma().encode("a\xff", "prompt", 8); },
              ThrowsMessage<InvalidRequest>(HasSubstr("byte 1")));
}

TEST(GemmaTokenizer, RefusesVocabulariesWithoutBytesOrAnUnknownToken) {
  TemporaryFolder folder;
  std::string file = gemma_file();
  const size_t at = file.find("<0x41>", file.find("\"vocab\""));
  ASSERT_NE(at, file.npos);
  file.replace(at, 6, "<0xzz>");
  folder.write("tokenizer.json", file);
  Json config = io::read_json(gemma_folder() / "tokenizer_config.json");
  EXPECT_EQ(tokens_of(GemmaTokenizer::from_folder(folder.path(), config), "a").size(), 2U);
  config["unk_token"] = nullptr;
  EXPECT_THAT([&] { GemmaTokenizer::from_folder(folder.path(), config); },
              ThrowsMessage<InvalidFile>(HasSubstr("neither all bytes nor an unk_token")));
}

TEST(GemmaTokenizer, RefusesAFrameThatTheVocabularyLacks) {
  const Json config = io::read_json(gemma_folder() / "tokenizer_config.json");
  TemporaryFolder folder;
  std::string file = gemma_file();
  const size_t at = file.find("\"single\"");
  ASSERT_NE(at, file.npos);
  const size_t token = file.find("<bos>", at);
  ASSERT_NE(token, file.npos);
  file.replace(token, 5, "<bus>");
  folder.write("tokenizer.json", file);
  EXPECT_THAT([&] { GemmaTokenizer::from_folder(folder.path(), config); },
              ThrowsMessage<InvalidFile>(HasSubstr("<bus>")));
}

}  // namespace
}  // namespace omnirt::text
