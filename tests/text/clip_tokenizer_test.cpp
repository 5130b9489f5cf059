#include "text/clip_tokenizer.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "base/error.hpp"
#include "io/utf8.hpp"
#include "text/clip_text.hpp"
#include "text/support.hpp"

namespace omnirt::text {
namespace {

using testing::HasSubstr;

using Ids = std::vector<int64_t>;

CLIPTokenizer vocabulary(const std::string& name) {
  return CLIPTokenizer::from_folder(vocabulary_folder(name));
}

std::map<std::string, CLIPTokenizer> vocabularies() {
  std::map<std::string, CLIPTokenizer> tokenizers;
  for (const char* name : {"emoji", "clip-l"}) tokenizers.emplace(name, vocabulary(name));
  return tokenizers;
}

void expect_corpus(const CLIPTokenizer& tokenizer, const char* name) {
  for (const Json& item : golden("corpus.json")) {
    const Json& expected = item[name];
    Ids ids = tokenizer.encode_words(text_of(item));
    if (expected.is_array()) {
      EXPECT_EQ(ids, expected.get<Ids>()) << shown(item);
    } else {
      EXPECT_EQ(ids.size(), expected["count"].get<size_t>()) << shown(item);
      EXPECT_EQ(fmt::format("{:016x}", fnv(ids)), expected["fnv"].get<std::string>())
          << shown(item);
    }
  }
}

TEST(CLIPTokenizer, GivesTheReferencesIdsByTheEmbeddedVocabulary) {
  expect_corpus(vocabulary("emoji"), "emoji");
}

TEST(CLIPTokenizer, GivesTheReferencesIdsByTheWholeVocabulary) {
  CLIPTokenizer tokenizer = vocabulary("clip-l");
  EXPECT_EQ(tokenizer.vocab_size(), 49408);
  EXPECT_EQ(tokenizer.window(), 77);
  EXPECT_EQ(tokenizer.bos_id(), 49406);
  EXPECT_EQ(tokenizer.eos_id(), 49407);
  EXPECT_EQ(tokenizer.pad_id(), 49407);
  expect_corpus(tokenizer, "clip-l");
}

TEST(CLIPTokenizer, GivesTheSameIdsFromVocabAndMergesAsFromTokenizerJson) {
  TemporaryFolder folder;
  for (const char* file : {"vocab.json", "merges.txt", "tokenizer_config.json"}) {
    folder.copy(vocabulary_folder("emoji") / file);
  }
  expect_corpus(CLIPTokenizer::from_folder(folder.path()), "emoji");
}

TEST(CLIPTokenizer, GivesTheReferencesIdsForEveryCodePoint) {
  CLIPTokenizer tokenizer = vocabulary("emoji");
  Json file = golden("code_points.json");
  auto pattern = file["template"].get<std::string>();
  auto block = file["block"].get<char32_t>();
  auto expected = file["hashes"].begin();
  for (const Json& range : file["ranges"]) {
    for (auto begin = range[0].get<char32_t>(); begin < range[1].get<char32_t>(); begin += block) {
      uint64_t hash = fnv_start;
      for (char32_t c = begin; c < begin + block; ++c) {
        if (c >= 0xD800 && c < 0xE000) continue;
        std::string text;
        for (size_t pos = 0, end; pos < pattern.size(); pos = end + 2) {
          end = std::min(pattern.find("{}", pos), pattern.size());
          text += pattern.substr(pos, end - pos);
          if (end < pattern.size()) io::append_utf8(text, c);
        }
        hash = fnv(tokenizer.encode_words(text), hash);
      }
      EXPECT_EQ(fmt::format("{:016x}", hash), expected->get<std::string>())
          << fmt::format("U+{:04X} and the {} from there", uint32_t{begin}, uint32_t{block});
      ++expected;
    }
  }
}

TEST(CLIPTokenizer, PadsAndCutsToTheWindow) {
  auto tokenizers = vocabularies();
  for (const Json& item : golden("windows.json")) {
    const CLIPTokenizer& tokenizer = tokenizers.at(item["tokenizer"].get<std::string>());
    TokenizedPrompt prompt = tokenizer.encode(item["text"].get<std::string>());
    EXPECT_EQ(prompt.ids, item["ids"].get<Ids>()) << shown(item);
    EXPECT_EQ(prompt.ids.size(), static_cast<size_t>(tokenizer.window()));
    EXPECT_EQ(prompt.ids[static_cast<size_t>(prompt.used) - 1], tokenizer.eos_id());
    EXPECT_EQ(prompt.cut.empty(), item["removed"].get<std::string>().empty()) << shown(item);
  }
}

TEST(CLIPTokenizer, DecodesAsTheReference) {
  auto tokenizers = vocabularies();
  for (const Json& item : golden("windows.json")) {
    const CLIPTokenizer& tokenizer = tokenizers.at(item["tokenizer"].get<std::string>());
    Ids ids = tokenizer.encode_words(item["text"].get<std::string>());
    ids.insert(ids.begin(), tokenizer.bos_id());
    ids.push_back(tokenizer.eos_id());
    EXPECT_EQ(tokenizer.decode(ids), item["decoded"].get<std::string>());
  }
}

TEST(CLIPTokenizer, DecodesPartsOfCharactersAndUnknownIds) {
  CLIPTokenizer tokenizer = vocabulary("emoji");
  Ids ids = tokenizer.encode_words("\U0001FAE8");
  ASSERT_GT(ids.size(), 1u);
  EXPECT_EQ(tokenizer.decode(Ids{ids[0]}), "\uFFFD");
  EXPECT_EQ(tokenizer.decode(Ids{-1, tokenizer.vocab_size(), int64_t{1} << 40}), "");
}

TEST(CLIPTokenizer, QuotesWhatWasCutInThePromptsOwnWords) {
  CLIPTokenizer tokenizer = vocabulary("emoji");  // a window of 32, so 30 for the text
  std::string thirty;
  for (int i = 0; i < 30; ++i) thirty += "Red  ";
  EXPECT_EQ(tokenizer.encode(thirty).cut, "");
  EXPECT_EQ(tokenizer.encode(thirty + "\u3000 CAFE\u0301, Ol\u00C9!  ").cut,
            "CAFE\u0301, Ol\u00C9!");
  EXPECT_EQ(tokenizer.encode("<|endoftext|> \u0130 " + thirty + "Blue").cut,
            "Red  Red  Red  Red  Blue")
      << "a special token, and a letter whose lower case is two characters in two words";
}

TEST(CLIPTokenizer, QuotesTheEndOfThePromptWhereverTheCutFalls) {
  CLIPTokenizer tokenizer = vocabulary("emoji");
  for (const Json& item : golden("corpus.json")) {
    std::string text = text_of(item);
    std::string cut = tokenizer.encode(text).cut;
    bool fits = tokenizer.encode_words(text).size() <= 30;
    EXPECT_EQ(cut.empty(), fits) << shown(item);
    EXPECT_EQ(io::find_invalid_utf8(cut), cut.npos) << shown(item);
    size_t at = text.rfind(cut);
    ASSERT_NE(at, text.npos) << shown(item);
    EXPECT_THAT(clip_normalize(text.substr(at + cut.size())), testing::AnyOf("", " "));
  }
}

TEST(CLIPTokenizer, ReadsFoldersOfEveryAge) {
  for (const Json& item : golden("folders.json")) {
    SCOPED_TRACE(item["name"].get<std::string>());
    TemporaryFolder folder;
    for (const Json& file : item["copied"]) {
      folder.copy(vocabulary_folder("emoji") / file.get<std::string>());
    }
    for (const auto& [name, content] : item["files"].items()) folder.write(name, content.dump());
    CLIPTokenizer tokenizer = CLIPTokenizer::from_folder(folder.path());
    EXPECT_EQ(tokenizer.vocab_size(), item["rows"].get<int64_t>());
    EXPECT_EQ(tokenizer.bos_id(), item["bos"].get<int64_t>());
    EXPECT_EQ(tokenizer.eos_id(), item["eos"].get<int64_t>());
    EXPECT_EQ(tokenizer.pad_id(), item["pad"].get<int64_t>());
    for (const Json& text : item["texts"]) {
      EXPECT_EQ(tokenizer.encode(text["text"].get<std::string>()).ids, text["ids"].get<Ids>())
          << shown(text);
    }
  }
}

TEST(CLIPTokenizer, RefusesTextThatIsNotUtf8NamingFieldAndByte) {
  CLIPTokenizer tokenizer = vocabulary("emoji");
  try {
    tokenizer.encode("a red \xFF apple", "negative_prompt");
    FAIL() << "no error";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.kind(), "InvalidRequest");
    ASSERT_EQ(error.findings().size(), 1u);
    EXPECT_EQ(error.findings()[0].field, "negative_prompt");
    EXPECT_EQ(error.findings()[0].value, "0xFF");
    EXPECT_EQ(error.findings()[0].message, "not UTF-8 at byte 6");
  }
  EXPECT_THROW(tokenizer.encode("\xED\xA0\x80"), InvalidRequest);
  EXPECT_THROW(tokenizer.encode("\xC3"), InvalidRequest);
  EXPECT_THROW(tokenizer.encode_words("\xC0\x80"), InvalidRequest);
}

TEST(CLIPTokenizer, RefusesAPromptOverTheLimit) {
  CLIPTokenizer tokenizer = vocabulary("emoji");
  try {
    tokenizer.encode(std::string(max_prompt_bytes + 1, 'a'));
    FAIL() << "no error";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.findings()[0].field, "prompt");
    EXPECT_THAT(error.what(), HasSubstr("1048577 bytes"));
    EXPECT_THAT(error.what(), HasSubstr("limit of 1048576 bytes"));
  }
}

TEST(CLIPTokenizer, ServesSeveralThreadsAtOnce) {
  const CLIPTokenizer tokenizer = vocabulary("emoji");
  const Json corpus = golden("corpus.json");
  std::atomic<int> differences = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (const Json& item : corpus) {
        if (!item.contains("text")) continue;
        auto text = item["text"].get<std::string>();
        differences += tokenizer.encode_words(text) != item["emoji"].get<Ids>();
        differences += tokenizer.encode(text).ids.size() != 32;
        tokenizer.decode(tokenizer.encode_words(text));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(differences, 0);
}

}  // namespace
}  // namespace omnirt::text
