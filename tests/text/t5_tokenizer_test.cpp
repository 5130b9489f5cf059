#include "text/t5_tokenizer.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "base/error.hpp"
#include "io/utf8.hpp"
#include "text/support.hpp"
#include "text/unigram_files.hpp"

// Against transformers' T5Tokenizer (tools/goldens/t5_tokenizer.py), by a cut of its vocabulary.
namespace omnirt::text {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Ids = std::vector<int64_t>;

std::filesystem::path t5_folder() {
  return source_path("tests/data/tokenizers/t5");
}

const Json& goldens() {
  static const Json all = golden("t5.json");
  return all;
}

void expect_texts(const T5Tokenizer& tokenizer) {
  for (const Json& item : goldens()["texts"]) {
    Ids ids = tokenizer.encode_words(text_of(item));
    const Json& expected = item["ids"];
    if (expected.is_array()) {
      EXPECT_EQ(ids, expected.get<Ids>()) << item.dump();
    } else {
      EXPECT_EQ(ids.size(), expected["count"].get<size_t>()) << item.dump();
      EXPECT_EQ(fmt::format("{:016x}", fnv(ids)), expected["fnv"].get<std::string>());
    }
  }
}

TEST(T5Tokenizer, GivesTheReferencesIds) {
  expect_texts(T5Tokenizer::from_folder(t5_folder()));
}

TEST(T5Tokenizer, GivesTheReferencesIdsForEveryCodePoint) {
  T5Tokenizer tokenizer = T5Tokenizer::from_folder(t5_folder());
  const Json& points = goldens()["code_points"];
  auto block = points["block"].get<char32_t>();
  char32_t begin = 0;
  for (const Json& expected : points["hashes"]) {
    uint64_t hash = fnv_start;
    for (char32_t c = begin; c < begin + block; ++c) {
      if (c >= 0xD800 && c < 0xE000) continue;
      std::string text = "a";
      io::append_utf8(text, c);
      text += "b ";
      io::append_utf8(text, c);
      hash = fnv(tokenizer.encode_words(text), hash);
    }
    EXPECT_EQ(fmt::format("{:016x}", hash), expected.get<std::string>())
        << fmt::format("U+{:04X} and on", uint32_t{begin});
    begin += block;
  }
  EXPECT_EQ(begin, 0x20000u);
}

TEST(T5Tokenizer, EndsPadsAndCutsToTheLength) {
  T5Tokenizer tokenizer = T5Tokenizer::from_folder(t5_folder());
  for (const Json& item : goldens()["windows"]) {
    auto text = item["text"].get<std::string>();
    TokenizedPrompt prompt = tokenizer.encode(text, "prompt", item["length"].get<int64_t>());
    EXPECT_EQ(prompt.ids, item["ids"].get<Ids>()) << item.dump();
    EXPECT_EQ(prompt.used, item["used"].get<int64_t>()) << item.dump();
  }
  EXPECT_EQ(tokenizer.window(), 512);
  EXPECT_EQ(tokenizer.encode("red").ids.size(), 512u);
}

TEST(T5Tokenizer, TellsWhatIsCutInThePromptsOwnWords) {
  T5Tokenizer tokenizer = T5Tokenizer::from_folder(t5_folder());
  std::string text = "the  of \u00BD and the";
  EXPECT_EQ(tokenizer.encode(text, "prompt", 3).cut, "\u00BD and the");
  EXPECT_EQ(tokenizer.encode(text, "prompt", 40).cut, "");
}

TEST(T5Tokenizer, RefusesWhatIsNotUtf8) {
  T5Tokenizer tokenizer = T5Tokenizer::from_folder(t5_folder());
  EXPECT_THAT([&] { tokenizer.encode("a\xFF", "inputs.prompt"); },
              ThrowsMessage<InvalidRequest>(HasSubstr("inputs.prompt")));
}

// A sentencepiece model as its authors' library writes it.
class Protobuf {
 public:
  Protobuf& number(uint64_t field, uint64_t value) {
    varint(field << 3);
    varint(value);
    return *this;
  }
  Protobuf& real(uint64_t field, float value) {
    varint(field << 3 | 5);
    auto bits = std::bit_cast<uint32_t>(value);
    for (int i = 0; i < 4; ++i) bytes += static_cast<char>(bits >> 8 * i & 0xFF);
    return *this;
  }
  Protobuf& text(uint64_t field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    bytes += value;
    return *this;
  }
  std::string bytes;

 private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
    bytes += static_cast<char>(value);
  }
};

// The vocabulary of tests/data without its last hundred, which such a model lacks.
std::string sentencepiece_model() {
  std::filesystem::path file = t5_folder() / "tokenizer.json";
  UnigramFiles files = parse_unigram_json(io::read_file(file, size_t{1} << 20), file.string());
  Protobuf model;
  for (size_t i = 0; i + 100 < files.pieces.size(); ++i) {
    Protobuf piece;
    piece.text(1, files.pieces[i].text).real(2, static_cast<float>(files.pieces[i].score));
    if (i < 3) piece.number(3, i == 2 ? 2 : 3);
    model.text(1, piece.bytes);
  }
  model.text(2, Protobuf().number(3, 1).number(4, 32000).bytes);
  model.text(3, Protobuf().text(1, "nmt_nfkc").text(2, files.charsmap).bytes);
  return model.bytes;
}

TEST(T5Tokenizer, GivesTheSameIdsFromASentencepieceModel) {
  TemporaryFolder folder;
  folder.write("spiece.model", sentencepiece_model());
  folder.copy(t5_folder() / "tokenizer_config.json");
  expect_texts(T5Tokenizer::from_folder(folder.path()));
}

TEST(T5Tokenizer, RefusesAModelThatIsCutOrAnother) {
  TemporaryFolder folder;
  std::string model = sentencepiece_model();
  for (size_t size : {size_t{1}, size_t{7}, model.size() / 2, model.size() - 1}) {
    folder.write("spiece.model", model.substr(0, size));
    EXPECT_THROW(T5Tokenizer::from_folder(folder.path()), InvalidFile) << size;
  }
  folder.write("spiece.model", model + Protobuf().text(2, Protobuf().number(3, 2).bytes).bytes);
  EXPECT_THAT([&] { T5Tokenizer::from_folder(folder.path()); },
              ThrowsMessage<Unsupported>(HasSubstr("model_type 2")));
  folder.write("tokenizer.json", R"({"model": {"type": "BPE", "vocab": {}}})");
  EXPECT_THAT([&] { T5Tokenizer::from_folder(folder.path()); },
              ThrowsMessage<Unsupported>(HasSubstr("BPE")));
}

TEST(T5Tokenizer, RefusesAMalformedVocabularyByItsEntry) {
  TemporaryFolder folder;
  for (const char* vocabulary :
       {R"([["<pad>", 0], ["</s>"]])", R"([["<pad>", 0], 3])", R"([["<pad>", 0], ["a", "b"]])",
        R"([["<pad>", 0], {"a": 1}])", R"([["<pad>", 0], ["a", 1, 2]])", R"([])", R"({"a": 1})"}) {
    folder.write("tokenizer.json",
                 fmt::format(R"({{"model": {{"type": "Unigram", "vocab": {}}}}})", vocabulary));
    EXPECT_THROW(T5Tokenizer::from_folder(folder.path()), InvalidFile) << vocabulary;
  }
}

TEST(Unigram, TakesTheLikeliestPieces) {
  Unigram model(
      {{"<pad>", 0}, {"</s>", 0}, {"<unk>", 0}, {"a", -1}, {"b", -1}, {"ab", -3}, {"abc", -2}}, 2);
  auto ids = [&](std::string_view word) {
    std::vector<Unigram::Token> tokens;
    size_t steps = 100;
    EXPECT_TRUE(model.encode(word, tokens, steps));
    Ids all;
    for (const Unigram::Token& token : tokens) all.push_back(token.id);
    return all;
  };
  EXPECT_EQ(ids("ab"), (Ids{3, 4}));
  EXPECT_EQ(ids("abc"), (Ids{6}));
  EXPECT_EQ(ids("axyb"), (Ids{3, 2, 4}));
  EXPECT_EQ(ids(""), Ids{});
  std::vector<Unigram::Token> tokens;
  size_t few = 3;
  EXPECT_FALSE(model.encode("abcabc", tokens, few));
  EXPECT_TRUE(tokens.empty());
}

}  // namespace
}  // namespace omnirt::text
