#include "fuzz/mutate.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

namespace omnirt::fuzz {

size_t below(size_t limit, Random& random) {
  return limit == 0 ? 0 : random() % limit;
}

namespace {

template <size_t N>
std::string one_of(const std::array<const char*, N>& choices, Random& random) {
  return choices[below(N, random)];
}

constexpr std::array numbers{"0",
                             "1",
                             "-1",
                             "-0",
                             "00",
                             "1.5",
                             "1e3",
                             "1E400",
                             "7",
                             "8",
                             "255",
                             "4294967296",
                             "2147483648",
                             "4611686018427387904",
                             "9223372036854775807",
                             "9223372036854775808",
                             "18446744073709551615",
                             "18446744073709551616",
                             "99999999999999999999999999999999",
                             "NaN",
                             "null",
                             "\"1\"",
                             "[]",
                             "[[1]]"};
constexpr std::array tokens{"{",
                            "}",
                            "[",
                            "]",
                            ",",
                            ":",
                            "\"",
                            "\\",
                            "\\u0000",
                            "\\ud800",
                            "\\udc00\\ud800",
                            "\\ud83d\\ude00",
                            "\\u00",
                            "\xFF",
                            "\xC0\x80",
                            "\xED\xA0\x80",
                            "\xF0\x9F\x98\x80",
                            "\x01",
                            " ",
                            "\n",
                            "null",
                            "true",
                            "\"dtype\":\"F32\",",
                            "\"shape\":[",
                            "\"data_offsets\":[0,8],",
                            "\"__metadata__\":{\"a\":\"b\"},",
                            "\"w\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},",
                            "../",
                            "/",
                            ".safetensors"};
constexpr std::array names{"F64",   "F32",          "F16",          "BF16",       "I64",
                           "U8",    "BOOL",         "F4",           "F6_E2M3",    "F8_E4M3",
                           "C64",   "f32",          "F33",          "",           "dtype",
                           "shape", "data_offsets", "__metadata__", "weight_map", "s.bin",
                           "..",    "a.safetensors"};

void flip_a_bit(std::string& text, Random& random) {
  if (text.empty()) return;
  text[below(text.size(), random)] ^= static_cast<char>(1 << below(8, random));
}

void replace_a_byte(std::string& text, Random& random) {
  if (!text.empty()) text[below(text.size(), random)] = static_cast<char>(random());
}

void cut(std::string& text, Random& random) {
  text.resize(below(text.size() + 1, random));
}

void insert_a_token(std::string& text, Random& random) {
  text.insert(below(text.size() + 1, random), one_of(tokens, random));
}

// A piece moves, is doubled, or goes.
void shuffle_a_piece(std::string& text, Random& random) {
  size_t from = below(text.size() + 1, random), length = below(text.size() - from + 1, random);
  std::string piece = text.substr(from, length);
  if (random() % 2) text.erase(from, length);
  if (random() % 2) text.insert(below(text.size() + 1, random), piece);
}

// Repeats an entry (from a quote to the next closing brace), which makes names that are there
// twice.
void double_an_entry(std::string& text, Random& random) {
  size_t from = text.find('"', below(text.size() + 1, random)), end = text.find('}', from);
  if (end == std::string::npos) return;
  text.insert(from, text.substr(from, end + 1 - from) + ",");
}

void replace_a_number(std::string& text, Random& random) {
  auto digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  auto first = std::find_if(text.begin() + static_cast<long>(below(text.size() + 1, random)),
                            text.end(), digit);
  auto last = std::find_if_not(first, text.end(), digit);
  if (first == text.end()) return;
  std::string number = random() % 4 ? one_of(numbers, random) : std::to_string(random() % 64);
  text.replace(first, last, number);
}

void replace_a_string(std::string& text, Random& random) {
  size_t first = text.find('"', below(text.size() + 1, random));
  size_t last = first == std::string::npos ? first : text.find('"', first + 1);
  if (last != std::string::npos) text.replace(first + 1, last - first - 1, one_of(names, random));
}

void nest(std::string& text, Random& random) {
  size_t depth = size_t{1} << below(12, random);
  text.insert(below(text.size() + 1, random), std::string(depth, random() % 2 ? '[' : '{'));
}

}  // namespace

std::string mutate_text(std::string text, Random& random) {
  constexpr std::array<void (*)(std::string&, Random&), 9> changes{
      flip_a_bit,       replace_a_byte,   cut, insert_a_token, shuffle_a_piece, double_an_entry,
      replace_a_number, replace_a_string, nest};
  for (size_t i = 0, count = 1 + below(4, random); i < count; ++i) {
    changes[below(changes.size(), random)](text, random);
  }
  return text;
}

}  // namespace omnirt::fuzz
