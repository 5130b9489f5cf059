#include "text/character_bpe.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "io/utf8.hpp"
#include "text/unicode.hpp"

namespace omnirt::text {
namespace {

// Of each token that is one character.
std::unordered_map<char32_t, int32_t> characters_of(const Vocabulary& vocabulary) {
  constexpr size_t longest = 4;  // bytes of a character
  std::unordered_map<char32_t, int32_t> characters;
  for (int64_t id = 0; id < vocabulary.rows(); ++id) {
    const std::string* token = vocabulary.token(id);
    if (!token || token->empty() || token->size() > longest ||
        io::find_invalid_utf8(*token) != std::string::npos)
      continue;
    size_t end = 0;
    const char32_t character = next_codepoint(*token, end);
    if (end == token->size()) characters.emplace(character, static_cast<int32_t>(id));
  }
  return characters;
}

}  // namespace

std::string with_underlines(std::string_view text) {
  std::string made;
  for (char byte : text) {
    if (byte == ' ')
      made += underline_for_space;
    else
      made += byte;
  }
  return made;
}

std::vector<std::string_view> as_one_word(std::string_view text) {
  return text.empty() ? std::vector<std::string_view>{} : std::vector{text};
}

CharacterBpe::CharacterBpe(const Vocabulary& vocabulary, const Merges& merges, int32_t unknown,
                           const std::string& where)
    : characters_(characters_of(vocabulary)),
      unknown_(unknown),
      merges_(vocabulary, merges, where) {
  for (size_t byte = 0; byte < bytes_.size(); ++byte)
    bytes_[byte] = vocabulary.find(fmt::format("<0x{:02X}>", byte));
  if (unknown >= 0 || std::ranges::find(bytes_, -1) == bytes_.end()) return;
  throw InvalidFile({where, "", "the vocabulary has neither all bytes nor an unk_token",
                     "name an unk_token that the vocabulary has"});
}

void CharacterBpe::append_bytes(std::string_view character, std::vector<Symbol>& out) const {
  auto id_of = [&](char byte) { return bytes_[static_cast<unsigned char>(byte)]; };
  if (std::ranges::all_of(character, [&](char byte) { return id_of(byte) >= 0; })) {
    for (char byte : character) out.push_back({id_of(byte), 1});
    return;
  }
  const auto size = static_cast<uint32_t>(character.size());
  if (!out.empty() && out.back().id == unknown_)
    out.back().bytes += size;
  else
    out.push_back({unknown_, size});
}

void CharacterBpe::encode(std::string_view word, std::vector<Symbol>& out) const {
  std::vector<Symbol> symbols;
  for (size_t begin = 0, end = 0; begin < word.size(); begin = end) {
    auto known = characters_.find(next_codepoint(word, end));
    if (known == characters_.end())
      append_bytes(word.substr(begin, end - begin), symbols);
    else
      symbols.push_back({known->second, static_cast<uint32_t>(end - begin)});
  }
  merges_.apply(symbols, out);
}

}  // namespace omnirt::text
