#include "text/mistral_tokenizer.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "io/utf8.hpp"
#include "text/support.hpp"

// Against transformers (tools/goldens/mistral_tokenizer.py), by a small vocabulary that is laid out
// as the published ones are.
namespace omnirt::text {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Ids = std::vector<int64_t>;

std::filesystem::path mistral_folder() {
  return source_path("tests/data/tokenizers/mistral");
}

const Json& mistral_goldens() {
  static const Json all = golden("mistral.json");
  return all;
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

std::string read(const char* name) {
  return io::read_file(mistral_folder() / name, size_t{1} << 20);
}

// The folder with other contents of some of its files.
MistralTokenizer made_with(const std::map<std::string, std::string>& other) {
  TemporaryFolder folder;
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja"})
    folder.write(name, other.contains(name) ? other.at(name) : read(name));
  return MistralTokenizer::from_folder(folder.path());
}

// The pattern of the folder is tekken's.
constexpr const char* tekken_in_json =
    R"([^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|)"
    R"([^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|)"
    R"(\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+)";
constexpr const char* three_digits_in_json =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|)"
    R"( ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+)";

class MistralPatterns : public ::testing::TestWithParam<const char*> {
 protected:
  MistralTokenizer tokenizer() const {
    std::string model = read("tokenizer.json");
    if (GetParam() == std::string("three_digits"))
      model = with(std::move(model), tekken_in_json, three_digits_in_json);
    return made_with({{"tokenizer.json", model}});
  }
  const Json& expected() const { return mistral_goldens()[GetParam()]; }
};

INSTANTIATE_TEST_SUITE_P(Both, MistralPatterns, ::testing::Values("tekken", "three_digits"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(MistralPatterns, GivesTheReferencesIds) {
  const MistralTokenizer made = tokenizer();
  for (const Json& item : expected()["texts"]) {
    Ids ids = made.encode_words(text_of(item));
    if (item["ids"].is_array()) {
      EXPECT_EQ(ids, item["ids"].get<Ids>()) << item.dump();
    } else {
      EXPECT_EQ(ids.size(), item["ids"]["count"].get<size_t>()) << item.dump();
      EXPECT_EQ(fmt::format("{:016x}", fnv(ids)), item["ids"]["fnv"].get<std::string>())
          << item.dump();
    }
  }
  for (const Json& item : expected()["whole"]) {
    const Ids ids = item["ids"].get<Ids>();
    TokenizedPrompt prompt = made.encode(item["text"].get<std::string>(), "prompt", 8);
    EXPECT_EQ(prompt.used, static_cast<int64_t>(ids.size()));
    EXPECT_EQ(Ids(prompt.ids.begin() + prompt.first, prompt.ids.end()), ids);
  }
}

TEST_P(MistralPatterns, GivesTheReferencesIdsForEveryCodePoint) {
  const MistralTokenizer made = tokenizer();
  const Json& points = expected()["code_points"];
  auto block = points["block"].get<char32_t>();
  char32_t begin = 0;
  for (const Json& hash : points["hashes"]) {
    uint64_t value = fnv_start;
    for (char32_t c = begin; c < begin + block; ++c) {
      if (c >= 0xD800 && c < 0xE000) continue;
      std::string p;
      io::append_utf8(p, c);
      std::string text = "a" + p + "b " + p + " \n" + p;
      text += "A" + p + "B" + p + "c";
      value = fnv(made.encode_words(text), value);
    }
    EXPECT_EQ(fmt::format("{:016x}", value), hash.get<std::string>())
        << fmt::format("U+{:04X} and on", uint32_t{begin});
    begin += block;
  }
  EXPECT_EQ(begin, 0x20000u);
}

// The pipeline's own; a golden of whole runs holds it, too.
constexpr const char* system_words =
    "You are an AI that reasons about image descriptions. You give structured responses focusing "
    "on object relationships, object\nattribution and actions without speculation.";

std::string without_places(std::string text) {
  for (size_t at = 0; (at = text.find("[IMG]", at)) != text.npos;) text.erase(at, 5);
  return text;
}

TEST(MistralTokenizer, WritesAConversationOutAsTheTemplateDoes) {
  const MistralTokenizer made = MistralTokenizer::from_folder(mistral_folder());
  EXPECT_EQ(made.unknown_template(), "");
  for (const Json& item : mistral_goldens()["chats"]) {
    TokenizedPrompt prompt =
        made.encode_chat(system_words, without_places(item["text"].get<std::string>()), "prompt",
                         item["length"].get<int64_t>());
    EXPECT_EQ(prompt.ids, item["ids"].get<Ids>()) << item.dump();
    EXPECT_EQ(prompt.used, item["used"].get<int64_t>()) << item.dump();
    EXPECT_EQ(prompt.first, item["length"].get<int64_t>() - prompt.used);
  }
}

TEST(MistralTokenizer, QuotesWhatIsCutOfThePromptAlone) {
  const MistralTokenizer made = MistralTokenizer::from_folder(mistral_folder());
  int64_t all = made.encode_chat("x", "a red apple", "prompt", 64).used;
  EXPECT_EQ(made.encode_chat("x", "a red apple", "prompt", all - 1).cut, "");
  EXPECT_EQ(made.encode_chat("x", "a red apple", "prompt", all - 2).cut, "apple");
  EXPECT_EQ(made.encode_chat("x", "a red apple", "prompt", 2).cut, "a red apple");
}

TEST(MistralTokenizer, PadsOnTheSideThatTheFolderSays) {
  Json config = Json::parse(read("tokenizer_config.json"));
  auto first = [&] {
    return MistralTokenizer::from_folder(mistral_folder(), config).encode("red", "prompt", 9).first;
  };
  EXPECT_GT(first(), 0);
  config["padding_side"] = "right";
  EXPECT_EQ(first(), 0);
  config.erase("padding_side");  // the class's own
  EXPECT_GT(first(), 0);
  config["tokenizer_class"] = "TokenizersBackend";
  EXPECT_EQ(first(), 0);
}

TEST(MistralTokenizer, ReadsTemplatesOfProcessors) {
  TemporaryFolder folder;
  for (const char* name : {"tokenizer.json", "tokenizer_config.json"})
    folder.copy(mistral_folder() / name);
  EXPECT_EQ(MistralTokenizer::from_folder(folder.path()).unknown_template(), "");
  folder.write("chat_template.json", Json({{"chat_template", "{{ messages }}"}}).dump());
  EXPECT_THAT(MistralTokenizer::from_folder(folder.path()).unknown_template(),
              HasSubstr("chat_template.json"));
  folder.copy(mistral_folder() / "chat_template.jinja");
  EXPECT_EQ(MistralTokenizer::from_folder(folder.path()).unknown_template(), "");
}

TEST(MistralTokenizer, RefusesWhatWouldChangeTheIds) {
  const std::string model = read("tokenizer.json");
  auto refused = [&](const std::string& from, const std::string& to, const char* what) {
    EXPECT_THAT(
        [&] {
          made_with({{"tokenizer.json", with(model, from, to)}});
        },
        ThrowsMessage<Unsupported>(HasSubstr(what)));
  };
  refused(tekken_in_json, "\\\\w+", "\\w+");
  refused(R"("use_regex":false)", R"("use_regex":true)", "use_regex");
  refused(R"("add_prefix_space":false)", R"("add_prefix_space":true)", "add_prefix_space");
  refused(R"("normalizer":null)", R"("normalizer":{"type":"NFC"})", "NFC");
  refused(R"("type":"Split")", R"("type":"Digits")", "Digits");
  Json config = Json::parse(read("tokenizer_config.json"));
  config["add_eos_token"] = true;
  EXPECT_THAT([&] { MistralTokenizer::from_folder(mistral_folder(), config); },
              ThrowsMessage<Unsupported>(HasSubstr("add_eos_token: true")));
}

}  // namespace
}  // namespace omnirt::text
