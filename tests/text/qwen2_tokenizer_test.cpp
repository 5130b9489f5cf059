#include "text/qwen2_tokenizer.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"
#include "io/utf8.hpp"
#include "text/qwen2_text.hpp"
#include "text/support.hpp"

// Against transformers' Qwen2Tokenizer (tools/goldens/qwen_tokenizer.py), by a cut of Qwen3's
// vocabulary.
namespace omnirt::text {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Ids = std::vector<int64_t>;

std::filesystem::path folder_of_cut() {
  return source_path("tests/data/tokenizers/qwen3");
}

const Qwen2Tokenizer& tokenizer() {
  static const Qwen2Tokenizer all = Qwen2Tokenizer::from_folder(folder_of_cut());
  return all;
}

const Json& goldens() {
  static const Json all = golden("qwen3.json");
  return all;
}

Json settings_of_cut() {
  return io::read_json(folder_of_cut() / "tokenizer_config.json");
}

TEST(Qwen2Tokenizer, GivesTheReferencesIds) {
  for (const Json& item : goldens()["texts"]) {
    Ids ids = tokenizer().encode_words(text_of(item));
    const Json& expected = item["ids"];
    if (expected.is_array()) {
      EXPECT_EQ(ids, expected.get<Ids>()) << item.dump();
    } else {
      EXPECT_EQ(ids.size(), expected["count"].get<size_t>()) << item.dump();
      EXPECT_EQ(fmt::format("{:016x}", fnv(ids)), expected["fnv"].get<std::string>());
    }
  }
}

TEST(Qwen2Tokenizer, GivesTheReferencesIdsForEveryCodePoint) {
  const Json& points = goldens()["code_points"];
  auto block = points["block"].get<char32_t>();
  char32_t begin = 0;
  for (const Json& expected : points["hashes"]) {
    uint64_t hash = fnv_start;
    for (char32_t c = begin; c < begin + block; ++c) {
      if (c >= 0xD800 && c < 0xE000) continue;
      std::string point;
      io::append_utf8(point, c);
      hash = fnv(tokenizer().encode_words("a" + point + "b " + point + " \n" + point), hash);
    }
    EXPECT_EQ(fmt::format("{:016x}", hash), expected.get<std::string>())
        << fmt::format("U+{:04X} and on", uint32_t{begin});
    begin += block;
  }
  EXPECT_EQ(begin, 0x20000u);
}

void expect_chats(const Qwen2Tokenizer& by, const Json& chats) {
  for (const Json& item : chats) {
    TokenizedPrompt prompt =
        by.encode_chat(item["text"].get<std::string>(), "prompt", item["length"].get<int64_t>());
    EXPECT_EQ(prompt.ids, item["ids"].get<Ids>()) << item.dump();
    EXPECT_EQ(prompt.used, item["used"].get<int64_t>()) << item.dump();
  }
}

TEST(Qwen2Tokenizer, WritesAConversationOutAsTheTemplateDoes) {
  EXPECT_EQ(tokenizer().chat_template().kind, ChatTemplate::Kind::thinking_off);
  expect_chats(tokenizer(), goldens()["chats"]);
}

TEST(Qwen2Tokenizer, ReadsFoldersOfOtherKinds) {
  BpeFiles files = read_bpe_folder(folder_of_cut(), "");
  std::string merges = "#version: 0.2\n", vocabulary = "{\"!\": 0";
  for (const auto& [left, right] : files.merges) merges += left + " " + right + "\n";
  for (int64_t id = 1; id < files.vocabulary.rows(); ++id)
    vocabulary += fmt::format(", {}: {}", Json(*files.vocabulary.token(id)).dump(), id);
  for (const Json& item : goldens()["folders"]) {
    SCOPED_TRACE(item["name"].get<std::string>());
    TemporaryFolder folder;
    for (const Json& file : item["taken"]) folder.copy(folder_of_cut() / file.get<std::string>());
    for (const auto& [file, content] : item["own"].items())
      folder.write(file, content.is_string() ? content.get<std::string>() : content.dump());
    if (item["name"] == "vocab_and_merges") {
      folder.write("vocab.json", vocabulary + "}");
      folder.write("merges.txt", merges);
    }
    Qwen2Tokenizer made = Qwen2Tokenizer::from_folder(folder.path());
    for (const Json& text : item["texts"])
      EXPECT_EQ(made.encode_words(text["text"].get<std::string>()), text["ids"].get<Ids>());
    expect_chats(made, item["chats"]);
  }
}

TEST(Qwen2Tokenizer, TellsWhereTheTextBeginsBehindPadding) {
  Json config = settings_of_cut();
  config["padding_side"] = "left";
  Qwen2Tokenizer made = Qwen2Tokenizer::from_folder(folder_of_cut(), config);
  TokenizedPrompt behind = made.encode("red", "prompt", 8);
  EXPECT_EQ(behind.first, 8 - behind.used);
  EXPECT_EQ(behind.ids.front(), made.pad_id());
  EXPECT_EQ(tokenizer().encode("red", "prompt", 8).first, 0);
}

TEST(Qwen2Tokenizer, QuotesWhatIsCutOfThePromptAlone) {
  const std::string words = "one two three four five six";
  int64_t all = tokenizer().encode_chat(words, "prompt", 64).used;
  auto after = static_cast<int64_t>(
      tokenizer().encode_words(tokenizer().chat_template().after(Thinking::off)).size());
  EXPECT_EQ(tokenizer().encode_chat(words, "prompt", all).cut, "");
  // What the template adds after the prompt is none of its words.
  EXPECT_EQ(tokenizer().encode_chat(words, "prompt", all - after).cut, "");
  EXPECT_EQ(tokenizer().encode_chat(words, "prompt", all - after - 1).cut, "six");
  EXPECT_EQ(tokenizer().encode_chat(words, "prompt", 1).cut, words);
}

TEST(Qwen2Tokenizer, RefusesPromptsThatAreNoTextOrTooLong) {
  EXPECT_THAT([] { tokenizer().encode_chat("a\xFF", "inputs.prompt", 8); },
              ThrowsMessage<InvalidRequest>(HasSubstr("not UTF-8 at byte 1")));
  EXPECT_THAT([] { tokenizer().encode_chat(std::string((1 << 20) + 1, 'a'), "prompt", 8); },
              ThrowsMessage<InvalidRequest>(HasSubstr("longer than the limit")));
}

TEST(Qwen2Tokenizer, RefusesSettingsThatWouldChangeTheIds) {
  for (const char* key :
       {"add_bos_token", "add_eos_token", "add_prefix_space", "split_special_tokens"}) {
    Json config = settings_of_cut();
    config[key] = true;
    EXPECT_THAT([&] { Qwen2Tokenizer::from_folder(folder_of_cut(), config); },
                ThrowsMessage<Unsupported>(HasSubstr(std::string(key) + ": true")));
  }
  Json config = settings_of_cut();
  config["truncation_side"] = "left";
  EXPECT_THAT([&] { Qwen2Tokenizer::from_folder(folder_of_cut(), config); },
              ThrowsMessage<Unsupported>(HasSubstr("truncation_side: \"left\"")));
}

TEST(Qwen2Words, AreCutAsThePatternSays) {
  EXPECT_THAT(qwen2_words("it's a  b12!"), ElementsAre("it", "'s", " a", " ", " b", "1", "2", "!"));
  EXPECT_THAT(qwen2_words("x \n\n  y"), ElementsAre("x", " \n\n", " ", " y"));
  EXPECT_THAT(qwen2_words(" ?!\r\n\nz"), ElementsAre(" ?!\r\n\n", "z"));
  EXPECT_THAT(qwen2_words("a   "), ElementsAre("a", "   "));
}

ChatTemplate::Kind kind_of(const Json& chat_template) {
  TemporaryFolder folder;
  return read_chat_template(folder.path(), {{"chat_template", chat_template}}).kind;
}

TEST(ChatTemplate, IsToldByWhatItWrites) {
  using Kind = ChatTemplate::Kind;
  const std::string qwen3 = settings_of_cut()["chat_template"].get<std::string>();
  EXPECT_EQ(kind_of(qwen3), Kind::thinking_off);
  EXPECT_EQ(kind_of(Json::array({{{"name", "default"}, {"template", qwen3}}})), Kind::thinking_off);
  EXPECT_EQ(kind_of(Json()), Kind::absent);
  EXPECT_EQ(kind_of("{{ messages[0].content }}"), Kind::unknown);
  // Qwen2.5's puts words of its own before a conversation.
  EXPECT_EQ(kind_of("{{- '<|im_start|>system\\nYou are Qwen.<|im_end|>\\n' }}" + qwen3),
            Kind::unknown);
  // One that always thinks.
  std::string thinks = qwen3;
  const std::string turn = "'<|im_start|>assistant\\n'";
  thinks.replace(thinks.find(turn), turn.size(), "'<|im_start|>assistant\\n<think>\\n'");
  EXPECT_EQ(kind_of(thinks), Kind::unknown);
  EXPECT_THROW(kind_of(7), InvalidFile);
}

TEST(ChatTemplate, OfAFileCountsBeforeTheSettings) {
  TemporaryFolder folder;
  folder.write("chat_template.jinja", "{{ messages }}");
  ChatTemplate read = read_chat_template(folder.path(), settings_of_cut());
  EXPECT_EQ(read.kind, ChatTemplate::Kind::unknown);
  EXPECT_THAT(read.where, HasSubstr("chat_template.jinja"));
  EXPECT_EQ(read.after(Thinking::off),
            "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n");
}

// As apply_chat_template with enable_thinking=True: the turn of the model that answers stays open.
TEST(ChatTemplate, WritesNoThoughtWhereTheModelMayThink) {
  for (auto kind : {ChatTemplate::Kind::thinking_off, ChatTemplate::Kind::plain})
    EXPECT_EQ(ChatTemplate{kind}.after(Thinking::on), "<|im_end|>\n<|im_start|>assistant\n");
}

}  // namespace
}  // namespace omnirt::text
