#include "request/known_things.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/path_text.hpp"
#include "io/file.hpp"
#include "io/utf8.hpp"

namespace omnirt {
namespace fs = std::filesystem;
namespace {

constexpr size_t max_bytes = size_t{64} << 10;
constexpr size_t max_things = 1024;
constexpr size_t max_name_bytes = 64;
constexpr size_t words_read = 512;     // no text encoder reads more tokens
constexpr size_t words_compared = 16;  // of a prompt that names nothing
constexpr size_t telling_letters = 4;  // shorter words are articles and the like
constexpr size_t most_suggestions = 3;

bool in_word(char c) {
  auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || std::isalnum(byte);
}

// The first `most` words of `text`, in small letters.
std::vector<std::string> words_of(std::string_view text, size_t most) {
  std::vector<std::string> words;
  for (size_t i = 0; i < text.size() && words.size() < most;) {
    size_t end = i;
    while (end < text.size() && in_word(text[end])) ++end;
    std::string word(text.substr(i, end - i));
    for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (!word.empty()) words.push_back(std::move(word));
    i = end + 1;
  }
  return words;
}

void check_name(const fs::path& file, const std::string& name, size_t so_far) {
  if (name.size() > max_name_bytes) {
    throw InvalidFile({path_text(file), name.substr(0, max_name_bytes),
                       fmt::format("a name of more than {} bytes", max_name_bytes),
                       "give one name per line"});
  }
  if (so_far == max_things) {
    throw InvalidFile({path_text(file), name, fmt::format("more than {} names", max_things),
                       "shorten the list, or remove the file"});
  }
}

void add(std::vector<std::string>& found, const std::string& thing) {
  if (found.size() < most_suggestions && std::ranges::find(found, thing) == found.end())
    found.push_back(thing);
}

size_t shared_words(const std::vector<std::string>& words, const std::string& thing) {
  std::vector<std::string> own = words_of(thing, max_name_bytes);
  return static_cast<size_t>(std::ranges::count_if(own, [&](const std::string& word) {
    return word.size() >= telling_letters && std::ranges::find(words, word) != words.end();
  }));
}

// Those that share most words first.
std::vector<std::string> by_words(const std::vector<std::string>& words,
                                  std::span<const std::string> things) {
  std::vector<std::pair<size_t, std::string>> counted;
  for (const std::string& thing : things) {
    if (size_t shared = shared_words(words, thing)) counted.emplace_back(shared, thing);
  }
  std::ranges::stable_sort(counted, std::greater<>{}, [](const auto& each) { return each.first; });
  std::vector<std::string> found;
  for (const auto& [shared, thing] : counted) add(found, thing);
  return found;
}

}  // namespace

std::vector<std::string> read_known_things(const fs::path& model) {
  fs::path file = model / things_file;
  std::error_code error;
  if (model.empty() || !fs::exists(file, error)) return {};
  std::string text = io::read_file(file, max_bytes);
  if (size_t bad = io::find_invalid_utf8(text); bad != std::string::npos)
    throw InvalidFile(
        {path_text(file), fmt::format("byte {}", bad), "not UTF-8", "save it as UTF-8"});
  std::vector<std::string> things;
  for (size_t i = 0; i < text.size();) {
    size_t end = std::min(text.find_first_of("\r\n", i), text.size());
    std::string name = text.substr(i, end - i);
    i = end + 1;
    if (words_of(name, 1).empty()) continue;
    check_name(file, name, things.size());
    things.push_back(std::move(name));
  }
  return things;
}

bool names_none_of(std::string_view prompt, std::span<const std::string> things) {
  std::vector<std::string> words = words_of(prompt, words_read);
  return !words.empty() && std::ranges::none_of(things, [&](const std::string& thing) {
    std::vector<std::string> own = words_of(thing, max_name_bytes);
    return std::search(words.begin(), words.end(), own.begin(), own.end()) != words.end();
  });
}

std::vector<std::string> things_near(std::string_view prompt, std::span<const std::string> things) {
  std::vector<std::string> words = words_of(prompt, words_compared);
  std::vector<std::string> found = by_words(words, things);
  for (size_t length : {3, 2, 1}) {
    for (size_t i = 0; i + length <= words.size() && found.size() < most_suggestions; ++i) {
      std::string part = fmt::format("{}", fmt::join(std::span(words).subspan(i, length), " "));
      if (part.size() < telling_letters) continue;
      if (std::string near = nearest_name(part, things); !near.empty()) add(found, near);
    }
  }
  return found;
}

}  // namespace omnirt
