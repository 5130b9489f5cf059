// What a tokenizer's folder may not hold.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "text/clip_tokenizer.hpp"
#include "text/support.hpp"

namespace omnirt::text {
namespace {

using testing::HasSubstr;

// Vocabulary of all bytes, "ab" and the special tokens, as a JSON object's inside.
std::string entries() {
  std::string text;
  int id = 0;
  for (const char* end : {"", "</w>"}) {
    for (const std::string& symbol : byte_symbols()) {
      text += fmt::format("{}: {}, ", Json(symbol + end).dump(), id++);
    }
  }
  return text + R"("ab": 512, "<|startoftext|>": 513, "<|endoftext|>": 514)";
}

// A sound folder of small files, to break one at a time.
class ClipFolder : public testing::Test {
 protected:
  void SetUp() override {
    folder_.write("vocab.json", "{" + entries() + "}");
    folder_.write("merges.txt", "#version: 0.2\na b\n");
    folder_.write("tokenizer_config.json", R"({"model_max_length": 8})");
  }

  CLIPTokenizer read() const { return CLIPTokenizer::from_folder(folder_.path()); }

  // Expects an error of this kind that names the file and says `message`.
  void expect_refusal(const std::string& kind, const std::string& file,
                      const std::string& message) const {
    try {
      read();
      ADD_FAILURE() << "no error; expected: " << message;
    } catch (const InvalidRequest& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      EXPECT_THAT(error.what(), HasSubstr((folder_.path() / file).string()));
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
  }
  void expect_invalid(const std::string& file, const std::string& content,
                      const std::string& message) const {
    SCOPED_TRACE(content.substr(0, 80));
    folder_.write(file, content);
    expect_refusal("InvalidFile", file, message);
  }
  void expect_unsupported(const std::string& file, const std::string& content,
                          const std::string& message) const {
    SCOPED_TRACE(content.substr(0, 80));
    folder_.write(file, content);
    expect_refusal("Unsupported", file, message);
  }
  std::string tokenizer_json(const std::string& merges, const std::string& more = "") const {
    return R"({"model": {"type": "BPE", "vocab": {)" + entries() + R"(}, "merges": )" + merges +
           "}" + more + "}";
  }

  TemporaryFolder folder_;
};

TEST_F(ClipFolder, IsReadWhenSound) {
  CLIPTokenizer tokenizer = read();
  EXPECT_EQ(tokenizer.window(), 8);
  EXPECT_EQ(tokenizer.vocab_size(), 515);
  EXPECT_EQ(tokenizer.encode("abb").ids,
            (std::vector<int64_t>{513, 512, 354, 514, 514, 514, 514, 514}));
}

TEST_F(ClipFolder, TakesEitherFormOfMergesAndLineEndsOfWindows) {
  folder_.write("merges.txt", "#version: 0.2\r\na b\r\n");
  EXPECT_EQ(read().encode_words("abb").size(), 2u);
  for (const char* merges : {R"(["a b"])", R"([["a", "b"]])"}) {
    folder_.write("tokenizer.json", tokenizer_json(merges));
    EXPECT_EQ(read().encode_words("abb").size(), 2u);
  }
}

TEST_F(ClipFolder, IsRefusedWhenAFileIsMissing) {
  std::filesystem::remove(folder_.path() / "merges.txt");
  expect_refusal("InvalidFile", "merges.txt", "not found");
  std::filesystem::remove(folder_.path() / "vocab.json");
  expect_refusal("InvalidFile", "vocab.json", "not found");
}

TEST_F(ClipFolder, IsRefusedWhenAFileIsNoFile) {
  std::filesystem::remove(folder_.path() / "vocab.json");
  std::filesystem::create_directory(folder_.path() / "vocab.json");
  expect_refusal("InvalidFile", "vocab.json", "");
}

TEST_F(ClipFolder, IsRefusedForAVocabularyThatIsNone) {
  expect_invalid("vocab.json", "", "not valid JSON");
  expect_invalid("vocab.json", "{\"a\": 0", "not valid JSON");
  expect_invalid("vocab.json", "[1, 2]", "");
  expect_invalid("vocab.json", "7", "not a JSON object");
  expect_invalid("vocab.json", "{\"a\xFF\": 0}", "not valid JSON");
  expect_invalid("vocab.json", "{}", "no entry for this byte");
  expect_invalid("vocab.json", R"({"a": "b"})", "the id is not an integer");
  expect_invalid("vocab.json", R"({"a": 1.5})", "the id is not an integer");
  expect_invalid("vocab.json", R"({"a": null})", "the id is not an integer");
  expect_invalid("vocab.json", R"({"a": {"b": 1}})", "the id is not an integer");
  expect_invalid("vocab.json", R"({"a": [1]})", "the id is not an integer");
}

TEST_F(ClipFolder, IsRefusedForIdsOutOfRangeOrTwice) {
  expect_invalid("vocab.json", R"({"a": -1})", "not in 0 to 262143");
  expect_invalid("vocab.json", R"({"a": 262144})", "not in 0 to 262143");
  expect_invalid("vocab.json", R"({"a": 18446744073709551615})", "not in 0 to 262143");
  expect_invalid("vocab.json", R"({"a": 99999999999999999999999})", "the id is not an integer");
  expect_invalid("vocab.json", R"({"a": 0, "b": 0})", "the id is taken by \"a\"");
  expect_invalid("vocab.json", R"({"a": 0, "a": 1})", "the token is there already, with id 0");
}

TEST_F(ClipFolder, IsRefusedForMergesThatAreNone) {
  expect_invalid("merges.txt", "a b c\n", "merge 1 is not two tokens");
  expect_invalid("merges.txt", "#version\na b\n\n", "merge 3 is not two tokens");
  expect_invalid("merges.txt", "ab\n", "merge 1 is not two tokens");
  expect_invalid("merges.txt", "a b\nx y\n", "merge 2 of 2: \"xy\" is not in the vocabulary");
  expect_invalid("merges.txt", "a \n", "is not in the vocabulary");
  std::string many;
  for (int i = 0; i <= 1 << 19; ++i) many += "a b\n";
  expect_invalid("merges.txt", many, "more than 524288 merges");
}

TEST_F(ClipFolder, IsRefusedForATokenizerJsonThatIsNone) {
  expect_invalid("tokenizer.json", "", "not valid JSON");
  expect_invalid("tokenizer.json", "{}", "has no vocabulary");
  expect_invalid("tokenizer.json", "[]", "");
  expect_invalid("tokenizer.json", R"({"model": {"type": "BPE", "vocab": {"a": 0}}})",
                 "has no model.merges");
  expect_invalid("tokenizer.json", R"({"model": {"type": "BPE", "vocab": [], "merges": []}})",
                 "has no vocabulary");
  for (const char* merges : {"[1]", "[[\"a\"]]", "[[\"a\", \"b\", \"c\"]]", "[[\"a\", 1]]", "[{}]",
                             "[[[\"a\", \"b\"]]]", "[null]"}) {
    expect_invalid("tokenizer.json", tokenizer_json(merges), "merge 1 is neither");
  }
  expect_invalid("tokenizer.json", tokenizer_json("[\"a\"]"), "merge 1 is not two tokens");
  expect_invalid("tokenizer.json", tokenizer_json("[], \"merges\": []"), "is there twice");
  expect_invalid("tokenizer.json", std::string(100000, '['), "not a JSON object");
  expect_invalid("tokenizer.json", "{\"x\":" + std::string(100000, '['),
                 "nested deeper than 64 levels");
  expect_unsupported("tokenizer.json", R"({"model": {"type": "Unigram", "vocab": [["a", 0]]}})",
                     "type \"BPE\"");
}

TEST_F(ClipFolder, IsRefusedForAddedTokensThatContradictTheVocabulary) {
  expect_invalid("tokenizer.json",
                 tokenizer_json("[]", R"(, "added_tokens": [{"content": "<|endoftext|>"}])"),
                 "an added token without id");
  std::filesystem::remove(folder_.path() / "tokenizer.json");
  folder_.write("added_tokens.json", R"({"<cat>": 600})");
  expect_refusal("InvalidFile", "tokenizer_config.json", "would have id 515");
  folder_.write("added_tokens.json", R"({"<|endoftext|>": 1})");
  expect_refusal("InvalidFile", "tokenizer_config.json", "would have id 514");
  expect_invalid("added_tokens.json", R"({"<cat>": -1})", "from 0 to 262143");
  expect_invalid("added_tokens.json", R"({"<cat>": "x"})", "the id is not a whole number");
  expect_invalid("added_tokens.json", "[]", "not a JSON object");
  expect_invalid("added_tokens.json", "{\"" + std::string(300, 'x') + "\": 515}",
                 "300 bytes; the limit is 256");
}

TEST_F(ClipFolder, IsRefusedWithoutAWindow) {
  const char* file = "tokenizer_config.json";
  expect_invalid(file, "{}", "has no model_max_length");
  expect_invalid(file, R"({"model_max_length": null})", "has no model_max_length");
  for (const char* value :
       {"0", "1", "-77", "65537", "7.5", "\"77\"", "true", "1000000000000000019884624838656"}) {
    expect_invalid(file, fmt::format(R"({{"model_max_length": {}}})", value),
                   "not a whole number from 2 to 65536");
  }
  std::filesystem::remove(folder_.path() / file);
  expect_refusal("InvalidFile", file, "has no model_max_length");
}

TEST_F(ClipFolder, IsRefusedForSpecialTokensThatCannotServe) {
  const char* file = "tokenizer_config.json";
  auto config = [](const char* more) {
    return fmt::format(R"({{"model_max_length": 8, {}}})", more);
  };
  expect_invalid(file, config(R"("pad_token": null)"), "pad_token: null");
  expect_invalid(file, config(R"("pad_token": "[PAD]")"), "\"[PAD]\": not in the vocabulary");
  expect_invalid(file, config(R"("bos_token": 7)"), "not a token");
  expect_invalid(file, config(R"("bos_token": {"content": 7})"), "not a token");
  expect_invalid(file, config(R"("bos_token": {"content": "a", "normalized": 1})"),
                 "not true or false");
  expect_invalid(file, config(R"("added_tokens_decoder": {"x": "a"})"), "not in 0 to 262143");
  expect_invalid(file, config(R"("added_tokens_decoder": [])"), "not a JSON object");
  expect_invalid(file, config(R"("additional_special_tokens": "x")"), "not a list");
  expect_invalid(file, "[1]", "not a JSON object");
}

TEST_F(ClipFolder, IsRefusedForSettingsThatWouldChangeTheIds) {
  const char* file = "tokenizer_config.json";
  auto config = [](const char* more) {
    return fmt::format(R"({{"model_max_length": 8, {}}})", more);
  };
  expect_unsupported(file, config(R"("padding_side": "left")"), "only \"right\" is known");
  expect_unsupported(file, config(R"("truncation_side": "left")"), "only \"right\" is known");
  expect_unsupported(file, config(R"("split_special_tokens": true)"), "only false is known");
  expect_unsupported(file, config(R"("image_token": "<image>")"), "no such special token");
  expect_unsupported(file, config(R"("eos_token": {"content": "<|endoftext|>", "lstrip": true})"),
                     "eos_token.lstrip: true");
}

TEST_F(ClipFolder, IsRefusedForFilesOverTheirSize) {
  expect_invalid("tokenizer_config.json", std::string((128 << 10) + 1, ' '), "");
  folder_.write("tokenizer_config.json", R"({"model_max_length": 8})");
  expect_invalid("merges.txt", std::string((32 << 20) + 1, '\n'), "");
}

}  // namespace
}  // namespace omnirt::text
