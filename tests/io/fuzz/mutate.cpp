#include "io/fuzz/mutate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstring>

namespace omnirt::fuzz {
namespace {

size_t below(size_t limit, Random& random) {
  return limit == 0 ? 0 : random() % limit;
}

template <size_t N>
std::string one_of(const std::array<const char*, N>& choices, Random& random) {
  return choices[below(N, random)];
}

std::string with_length(const std::string& header, const std::string& data, uint64_t length) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
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

// A legal file; `moved`: one in which some tensors begin a little before or after the place where
// the last one ends, and which holds as many bytes as the tensors together.
std::string seed_file(Random& random, bool moved) {
  struct Type {
    const char* name;
    size_t bits;
  };
  constexpr std::array<Type, 6> types{
      {{"F32", 32}, {"F16", 16}, {"U8", 8}, {"F8_E4M3", 8}, {"I64", 64}, {"F4", 4}}};
  std::string header = random() % 2 ? R"({"__metadata__":{"format":"pt","\u00fc":"\n"})" : "{";
  size_t offset = 0, total = 0;
  for (size_t i = 0, count = below(6, random); i < count; ++i) {
    const Type& type = types[below(types.size(), random)];
    size_t rows = below(5, random), bytes = rows * 2 * type.bits / 8;
    if (moved && random() % 4 == 0)
      offset = offset + below(9, random) - std::min<size_t>(offset, 4);
    header += fmt::format(R"({}"t{}":{{"dtype":"{}","shape":[{},2],"data_offsets":[{},{}]}})",
                          header.size() > 1 ? "," : "", i, type.name, rows, offset, offset + bytes);
    offset += bytes;
    total += bytes;
  }
  header += '}';
  header.append(below(9, random), ' ');
  return with_length(header, std::string(total, 'd'), header.size());
}

}  // namespace

std::vector<std::string> safetensors_seeds(Random& random) {
  std::vector<std::string> seeds;
  for (int i = 0; i < 64; ++i) seeds.push_back(seed_file(random, false));
  return seeds;
}

std::vector<std::string> index_seeds() {
  return {
      R"({"metadata":{"total_size":12,"x":[1,null,true,{"y":-1.5e3}]},"weight_map":{"a.w":"s-00001-of-00002.safetensors",)"
      R"("b.w":"s-00002-of-00002.safetensors","\u00fc":"s-00001-of-00002.safetensors"}})",
      R"({"weight_map":{"a":"s.safetensors"}})"};
}

std::string mutate_text(std::string text, Random& random) {
  constexpr std::array<void (*)(std::string&, Random&), 9> changes{
      flip_a_bit,       replace_a_byte,   cut, insert_a_token, shuffle_a_piece, double_an_entry,
      replace_a_number, replace_a_string, nest};
  for (size_t i = 0, count = 1 + below(4, random); i < count; ++i) {
    changes[below(changes.size(), random)](text, random);
  }
  return text;
}

std::string mutate_safetensors(std::string file, Random& random) {
  uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  std::string header = file.substr(8, length), data = file.substr(8 + length);
  switch (random() % 9) {
    case 0:  // anywhere in the file
      return mutate_text(std::move(file), random);
    case 1:  // another length
      return with_length(
          header, data,
          random() % 2 ? random() >> below(64, random) : length + below(9, random) - 4);
    case 2:  // more data, or less
      data.resize(below(data.size() + 9, random), 'm');
      return with_length(header, data, length);
    case 3:  // another file
      return seed_file(random, true);
    case 4:  // the same content, spelled in another way: still legal
      header.append(below(40, random), ' ');
      return with_length(header, data, header.size());
    default:
      header = mutate_text(std::move(header), random);
      return with_length(header, data, header.size());
  }
}

}  // namespace omnirt::fuzz
