// Tokenizers' folders: CLIP's tokenizer.json, or vocab.json and merges.txt; T5's tokenizer.json or
// spiece.model, with replacements; Qwen's and Mistral's tokenizer.json and chat template; Gemma's
// and Llama's tokenizer.json with what frames texts; and their settings. What loads takes prompts.
#include <fmt/format.h>

#include <bit>
#include <filesystem>

#include "base/error.hpp"
#include "fuzz/files.hpp"
#include "fuzz/target.hpp"
#include "text/bpe.hpp"
#include "text/clip_tokenizer.hpp"
#include "text/gemma_tokenizer.hpp"
#include "text/llama_tokenizer.hpp"
#include "text/mistral_tokenizer.hpp"
#include "text/qwen2_tokenizer.hpp"
#include "text/t5_tokenizer.hpp"

namespace omnirt::fuzz {
namespace {

using namespace omnirt::text;

// The kinds of folder; an input's first byte picks one.
enum Kind : char {
  clip_whole,
  clip_parts,
  t5_json,
  t5_pieces,
  qwen_whole,
  mistral_whole,
  gemma_whole,
  llama_whole,
  kinds
};

std::string word(uint32_t value) {
  return std::string(reinterpret_cast<const char*>(&value), 4);
}

// CLIP's ------------------------------------------------------------------------------------------

std::string vocabulary_json() {
  std::string json = "{";
  int id = 0;
  auto add = [&](const std::string& token) {
    json += fmt::format("{}{}: {}", id ? ", " : "", Json(token).dump(), id);
    ++id;
  };
  for (const std::string& symbol : byte_symbols()) add(symbol);
  for (const std::string& symbol : byte_symbols()) add(symbol + "</w>");
  for (const char* token :
       {"<|startoftext|>", "<|endoftext|>", "ca", "cat</w>", "ab", "abab", "\u00e9x"})
    add(token);
  return json + "}";
}

constexpr const char* clip_settings =
    R"({"model_max_length": 77, "bos_token": "<|startoftext|>", "eos_token": {"content":)"
    R"( "<|endoftext|>", "special": true}, "pad_token": "!", "unk_token": "<|endoftext|>",)"
    R"( "added_tokens_decoder": {"519": {"content": "<pet>", "normalized": true}}})";

std::string tokenizer_json(Random& random) {
  static const std::string vocabulary = vocabulary_json();
  std::string merges = R"(["c a", "ca t</w>", ["a", "b"], "ab ab"])";
  std::string tokens = R"([{"id": 519, "content": "<pet>", "special": false}])";
  if (random() % 2) merges = mutate_text(merges, random);
  if (random() % 2) tokens = mutate_text(tokens, random);
  return fmt::format(R"({{"added_tokens": {}, "model": {{"type": "BPE", "vocab": {},)"
                     R"( "merges": {}}}}})",
                     tokens, vocabulary, merges);
}

// T5's --------------------------------------------------------------------------------------------

std::string field(uint64_t number, const std::string& bytes) {
  std::string out(1, static_cast<char>(number << 3 | 2));
  size_t size = bytes.size();
  for (; size >= 0x80; size >>= 7) out += static_cast<char>(size | 0x80);
  return out + static_cast<char>(size) + bytes;
}

std::string some_text(Random& random) {
  constexpr std::array parts{"a",       "b",          "ab", "\u2581", "\u00e9",
                             "e\u0301", "\U0001F600", "",   "aaaa"};
  std::string text;
  for (size_t i = 0, count = below(4, random); i < count; ++i)
    text += parts[below(parts.size(), random)];
  if (random() % 64 == 0) text = std::string(below(2000, random), 'a');
  if (random() % 64 == 0) text += static_cast<char>(random());
  return text;
}

float some_score(Random& random) {
  if (random() % 16 == 0) return std::bit_cast<float>(static_cast<uint32_t>(random()));
  return -static_cast<float>(below(100, random)) / 10;
}

// A double array that replaces some bytes, by texts that mostly begin where texts do.
std::string charsmap(Random& random) {
  std::vector<uint32_t> units(512);
  std::string texts;
  units[0] = 256U << 10;
  for (size_t i = 0, count = below(6, random); i < count; ++i) {
    auto byte = static_cast<unsigned char>(random() % 3 ? 'a' + below(4, random) : random());
    size_t at = 256 ^ byte, leaf = 1 + below(255, random);
    units[at] = static_cast<uint32_t>((at ^ leaf) << 10 | 1U << 8 | byte);
    size_t begin = texts.size() + (random() % 32 == 0 ? below(8, random) : 0);
    units[leaf] = 1U << 31 | static_cast<uint32_t>(begin);
    texts += some_text(random) + std::string(1, '\0');
  }
  if (random() % 4 == 0) units[below(units.size(), random)] = static_cast<uint32_t>(random());
  std::string blob = word(static_cast<uint32_t>(units.size() * 4));
  for (uint32_t unit : units) blob += word(unit);
  return blob + texts;
}

std::string sentencepiece(Random& random) {
  std::string model;
  auto add = [&](const std::string& text, float score, int type) {
    model += field(1, field(1, text) + "\x15" + word(std::bit_cast<uint32_t>(score)) + "\x18" +
                          static_cast<char>(type));
  };
  add("<pad>", 0, 3);
  add("</s>", 0, 3);
  add("<unk>", 0, 2);
  add("\u2581", -1, 1);
  for (size_t i = 0, count = below(40, random); i < count; ++i)
    add(some_text(random), some_score(random),
        random() % 8 ? 1 : static_cast<int>(below(6, random)));
  if (random() % 2) model += field(3, field(2, charsmap(random)));
  if (random() % 4 == 0) model = mutate_text(model, random);
  return model;
}

std::string base64(const std::string& bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  uint32_t bits = 0, held = 0;
  for (unsigned char byte : bytes) {
    bits = bits << 8 | byte;
    for (held += 8; held >= 6; held -= 6) text += digits[bits >> (held - 6) & 63];
  }
  if (held > 0) text += digits[bits << (6 - held) & 63];
  return text;
}

std::string unigram_json(Random& random) {
  Json vocabulary = Json::array({{"<pad>", 0}, {"</s>", 0}, {"<unk>", 0}, {"\u2581", -1.5}});
  for (size_t i = 0, count = below(20, random); i < count; ++i)
    vocabulary.push_back({some_text(random), some_score(random)});
  Json json = {{"model", {{"type", "Unigram"}, {"vocab", vocabulary}}},
               {"added_tokens", {{{"id", 1}, {"content", "</s>"}, {"special", true}}}}};
  if (random() % 2)
    json["normalizer"] = {{"type", "Precompiled"},
                          {"precompiled_charsmap", base64(charsmap(random))}};
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return random() % 2 ? mutate_text(text, random) : text;
}

constexpr const char* t5_settings =
    R"({"model_max_length": 512, "extra_ids": 3, "eos_token": "</s>", "pad_token":)"
    R"( {"content": "<pad>"}, "additional_special_tokens": ["<s1>", {"content": "<s2>"}]})";

// Qwen's ------------------------------------------------------------------------------------------

constexpr const char* qwen_settings =
    R"({"model_max_length": 131072, "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>",)"
    R"( "padding_side": "left", "chat_template": [{"name": "default", "template": "{{ x }}"}],)"
    R"( "additional_special_tokens": ["<|im_start|>"], "unk_token": null})";

constexpr const char* chat =
    R"({{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }})"
    R"({{- '<|im_start|>assistant\n' }}{%- if enable_thinking is false %})"
    R"({{- '<think>\n\n</think>\n\n' }})";

std::string qwen_json(Random& random) {
  std::string vocabulary = "{";
  int id = 0;
  auto add = [&](const std::string& token) {
    vocabulary += fmt::format("{}{}: {}", id ? ", " : "", Json(token).dump(), id);
    ++id;
  };
  for (const std::string& symbol : byte_symbols()) add(symbol);
  for (const char* token : {"ca", "cat", "ab", "abab", "\u0120c"}) add(token);
  std::string merges = R"(["c a", "ca t", ["a", "b"], "ab ab", "\u0120 c"])";
  std::string tokens =
      fmt::format(R"([{{"id": {}, "content": "<|endoftext|>", "special": true}}, {{"id": {},)"
                  R"( "content": "<|im_start|>"}}, {{"id": {}, "content": "<|im_end|>",)"
                  R"( "normalized": true}}])",
                  id, id + 1, id + 2);
  if (random() % 2) merges = mutate_text(merges, random);
  if (random() % 2) tokens = mutate_text(tokens, random);
  return fmt::format(R"({{"added_tokens": {}, "model": {{"type": "BPE", "vocab": {}}},)"
                     R"( "merges": {}}}}})",
                     tokens, vocabulary, merges);
}

std::string qwen_input(Random& random, const std::string& settings) {
  std::string whole = qwen_json(random);
  if (random() % 8 == 0) whole = mutate_text(whole, random);
  return pack(qwen_whole, {whole, settings, random() % 2 ? chat : mutate_text(chat, random)});
}

// Mistral's ---------------------------------------------------------------------------------------

constexpr const char* mistral_settings =
    R"({"tokenizer_class": "LlamaTokenizerFast", "add_bos_token": true, "bos_token": "<|im_start|>",)"
    R"( "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "unk_token": null,)"
    R"( "add_prefix_space": null, "model_max_length": 1e30, "image_token": "[IMG]"})";

constexpr const char* mistral_chat =
    R"({{- bos_token }}{{- '[SYSTEM_PROMPT]' + system_message + '[/SYSTEM_PROMPT]' }})"
    R"({{- '[INST]' + message['content'] + '[/INST]' }})";

// How text is cut, by one pattern or the other, before the vocabulary.
std::string mistral_steps(Random& random) {
  constexpr std::array patterns{
      R"([^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|)"
      R"([^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|)"
      R"(\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+)",
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|)"
      R"( ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+)"};
  std::string steps = fmt::format(
      R"({{"type": "Sequence", "pretokenizers": [{{"type": "Split", "pattern": {{"Regex": "{}"}},)"
      R"( "invert": false}}, {{"type": "ByteLevel", "use_regex": false, "trim_offsets": true}}]}})",
      patterns[below(patterns.size(), random)]);
  return random() % 4 ? steps : mutate_text(steps, random);
}

std::string mistral_input(Random& random, const std::string& settings) {
  std::string whole = qwen_json(random);
  whole.insert(1,
               fmt::format(R"("normalizer": null, "pre_tokenizer": {}, )", mistral_steps(random)));
  if (random() % 2) whole.insert(whole.rfind(R"("merges")"), R"("ignore_merges": true, )");
  return pack(mistral_whole,
              {whole, settings, random() % 2 ? mistral_chat : mutate_text(mistral_chat, random)});
}

// Gemma's and Llama's -----------------------------------------------------------------------------

constexpr const char* gemma_settings =
    R"({"bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>", "unk_token": "<unk>",)"
    R"( "mask_token": null, "add_bos_token": true, "legacy": true, "padding_side": "left",)"
    R"( "model_max_length": 1e30})";

std::string characters_json(Random& random) {
  std::string vocabulary = "{";
  int id = 0;
  auto add = [&](const std::string& token) {
    vocabulary += fmt::format("{}{}: {}", id ? ", " : "", Json(token).dump(), id);
    ++id;
  };
  for (const char* token : {"<pad>", "<eos>", "<bos>", "<unk>"}) add(token);
  const int bytes = random() % 4 ? 256 : 200;  // or too few
  for (int byte = 0; byte < bytes; ++byte) add(fmt::format("<0x{:02X}>", byte));
  for (const char* token : {"a", "b", "c", "t", "\u2581", "ca", "cat", "\u2581ca", "ab", "abab"})
    add(token);
  std::string merges = R"(["c a", "ca t", ["a", "b"], "ab ab", "\u2581 ca"])";
  std::string frame =
      R"({"type": "Sequence", "processors": [{"type": "TemplateProcessing", "single":)"
      R"( [{"SpecialToken": {"id": "<bos>", "type_id": 0}}, {"Sequence": {"id": "A"}},)"
      R"( {"SpecialToken": {"id": "<eos>"}}], "pair": [], "special_tokens": {}}]})";
  if (random() % 2) merges = mutate_text(merges, random);
  if (random() % 2) frame = mutate_text(frame, random);
  return fmt::format(R"({{"post_processor": {}, "model": {{"type": "BPE", "vocab": {}}},)"
                     R"( "merges": {}}}}})",
                     frame, vocabulary, merges);
}

// -------------------------------------------------------------------------------------------------

// What a tokenizer that was read must hold to, whatever its files were.
void take_prompts(const Tokenizer& tokenizer) {
  static const std::string long_one(3000, 'a');
  for (const std::string& prompt :
       {std::string(), std::string("a cat, ab abab <pet> \u00e9e\u0301\uFB01 \u2581\U0001F600"),
        long_one}) {
    TokenizedPrompt tokens = tokenizer.encode(prompt, "prompt", 77);
    require(tokens.ids.size() == 77 && tokens.first + tokens.used <= 77,
            "a prompt has the length that was asked");
    for (int64_t id : tokens.ids)
      require(id >= 0 && id < tokenizer.vocab_size(), "an id is a row of the table");
  }
}

}  // namespace

std::string make_input(Random& random) {
  auto kind = static_cast<Kind>(below(kinds, random));
  constexpr std::array all{clip_settings, clip_settings,    t5_settings,    t5_settings,
                           qwen_settings, mistral_settings, gemma_settings, gemma_settings};
  std::string settings = all[kind];
  if (random() % 3 == 0) settings = mutate_text(settings, random);
  switch (kind) {
    case clip_whole: {
      std::string whole = tokenizer_json(random);
      return pack(kind, {random() % 8 ? whole : mutate_text(whole, random), settings});
    }
    case clip_parts: {
      static const std::string vocabulary = vocabulary_json();
      std::string merges = mutate_text("#version: 0.2\nc a\nca t</w>\na b\nab ab\n", random);
      return pack(kind,
                  {random() % 8 ? vocabulary : mutate_text(vocabulary, random), settings, merges});
    }
    case t5_json:
      return pack(kind, {unigram_json(random), settings});
    case qwen_whole:
      return qwen_input(random, settings);
    case mistral_whole:
      return mistral_input(random, settings);
    case gemma_whole:
    case llama_whole: {
      std::string whole = characters_json(random);
      return pack(kind, {random() % 8 ? whole : mutate_text(whole, random), settings});
    }
    default:
      return pack(kind, {sentencepiece(random), settings});
  }
}

void read_input(std::string_view input) {
  Packed packed = unpack(input, 3);
  std::filesystem::path folder = fresh_folder();
  constexpr std::array names{"tokenizer.json", "vocab.json",     "tokenizer.json",
                             "spiece.model",   "tokenizer.json", "tokenizer.json",
                             "tokenizer.json", "tokenizer.json"};
  auto kind = static_cast<size_t>(static_cast<unsigned char>(packed.kind)) % kinds;
  write_text(folder / names[kind], packed.parts[0]);
  write_text(folder / "tokenizer_config.json", packed.parts[1]);
  if (kind == clip_parts) write_text(folder / "merges.txt", packed.parts[2]);
  if (kind == qwen_whole) {
    write_text(folder / "chat_template.jinja", packed.parts[2]);
    Qwen2Tokenizer tokenizer = Qwen2Tokenizer::from_folder(folder);
    take_prompts(tokenizer);
    tokenizer.encode_chat("a cat", "prompt", 9);
  } else if (kind == mistral_whole) {
    write_text(folder / "chat_template.jinja", packed.parts[2]);
    MistralTokenizer tokenizer = MistralTokenizer::from_folder(folder);
    take_prompts(tokenizer);
    tokenizer.encode_chat("be 1234", "a cat", "prompt", 9);
  } else if (kind == gemma_whole)
    take_prompts(GemmaTokenizer::from_folder(folder));
  else if (kind == llama_whole)
    take_prompts(LlamaTokenizer::from_folder(folder));
  else if (kind < t5_json)
    take_prompts(CLIPTokenizer::from_folder(folder));
  else
    take_prompts(T5Tokenizer::from_folder(folder));
}

}  // namespace omnirt::fuzz
