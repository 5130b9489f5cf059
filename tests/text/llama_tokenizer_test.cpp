#include "text/llama_tokenizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "io/file.hpp"
#include "text/mistral_tokenizer.hpp"
#include "text/support.hpp"

// Against transformers' LlamaTokenizer (tools/goldens/aura_flow.py), by a small vocabulary that is
// laid out as AuraFlow's is.
namespace omnirt::text {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Ids = std::vector<int64_t>;

std::filesystem::path llama_folder() {
  return source_path("tests/data/tokenizers/llama");
}

LlamaTokenizer llama_with(const Json& settings) {
  Json config = io::read_json(llama_folder() / "tokenizer_config.json");
  for (const auto& [name, value] : settings.items()) {
    config.erase(name);
    if (!value.is_null()) config[name] = value;
  }
  return LlamaTokenizer::from_folder(llama_folder(), config);
}

Ids ids_of_llama(const LlamaTokenizer& tokenizer, const std::string& text) {
  TokenizedPrompt made = tokenizer.encode(text, "prompt", 4096);
  auto begin = made.ids.begin() + made.first;
  return {begin, begin + made.used};
}

// By legacy, add_prefix_space and padding_side.
TEST(LlamaTokenizer, GivesTheReferencesIds) {
  for (const Json& kind : golden("llama.json")) {
    SCOPED_TRACE(kind["settings"].dump());
    const LlamaTokenizer tokenizer = llama_with(kind["settings"]);
    for (const Json& item : kind["texts"])
      EXPECT_EQ(ids_of_llama(tokenizer, item["text"]), item["ids"].get<Ids>()) << item.dump();
    for (const Json& item : kind["padded"]) {
      const Ids ids = item["ids"];
      TokenizedPrompt made = tokenizer.encode(item["text"].get<std::string>(), "prompt",
                                              static_cast<int64_t>(ids.size()));
      EXPECT_EQ(made.ids, ids) << item.dump();
      EXPECT_EQ(made.used, item["used"].get<int64_t>());
    }
  }
}

TEST(LlamaTokenizer, QuotesWhatDidNotFit) {
  const LlamaTokenizer tokenizer = llama_with({{"legacy", false}});
  const auto used = static_cast<int64_t>(ids_of_llama(tokenizer, "the small cat").size());
  EXPECT_EQ(tokenizer.encode("the small cat", "prompt", used).cut, "");
  EXPECT_EQ(tokenizer.encode("the small cat", "prompt", used - 1).cut, "cat");
}

TEST(LlamaTokenizer, AsksForRoomInItsFrame) {
  const LlamaTokenizer tokenizer = llama_with({{"legacy", false}});
  EXPECT_EQ(tokenizer.encode("a", "prompt", 1).cut, "a");
  EXPECT_THAT([&] { tokenizer.encode("a", "prompt", 0); },
              ThrowsMessage<InvalidRequest>(HasSubstr("1 tokens around each text")));
}

// The class's name is also that of newer models' vocabularies.
TEST(LlamaTokenizer, LeavesVocabulariesOverBytesToMistrals) {
  const TokenizerInfo info = llama_tokenizer_info();
  auto made = info.make(source_path("tests/data/tokenizers/mistral"), {});
  EXPECT_TRUE(dynamic_cast<const MistralTokenizer*>(made.get()));
  EXPECT_TRUE(dynamic_cast<const LlamaTokenizer*>(info.make(llama_folder(), {}).get()));
}

}  // namespace
}  // namespace omnirt::text
