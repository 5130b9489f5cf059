#include "pipeline/symbol_sizes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "base/error.hpp"

namespace omnirt {
namespace {

[[noreturn]] void refuse(std::string why) {
  throw InvalidFile({"", "", std::move(why), ""});
}

std::vector<std::string> parts_of(const std::string& term) {
  static constexpr std::string_view plus = " + ";
  std::vector<std::string> parts;
  for (size_t from = 0; from != term.npos;) {
    size_t at = term.find(plus, from);
    parts.push_back(term.substr(from, at == term.npos ? at : at - from));
    from = at == term.npos ? at : at + plus.size();
  }
  return parts;
}

std::optional<int64_t> number(const std::string& text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

}  // namespace

void SymbolSizes::bind(const std::string& symbol, int64_t size, const std::string& from) {
  auto [known, fresh] = known_.try_emplace(symbol, Known{size, from});
  if (!fresh && known->second.size != size)
    refuse(fmt::format("{} is {}, and {} by {}", symbol, size, known->second.size,
                       known->second.from));
}

std::optional<int64_t> SymbolSizes::find(const std::string& symbol) const {
  auto known = known_.find(symbol);
  return known == known_.end() ? std::nullopt : std::optional(known->second.size);
}

void SymbolSizes::check_term(const std::string& term, int64_t size, const std::string& name) {
  int64_t rest = size;
  std::string open;
  for (const std::string& part : parts_of(term)) {
    auto value = number(part);
    auto known = known_.find(part);
    if (!value && known == known_.end() && open.empty())
      open = part;
    else
      rest -= value ? *value : known == known_.end() ? 0 : known->second.size;
  }
  std::string from = fmt::format("its value '{}'", name);
  if (!open.empty() && rest > 0) return bind(open, rest, from);
  if (open.empty() && rest == 0) return;
  auto known = known_.find(term);
  refuse(known == known_.end() ? fmt::format("{} is expected where it has {}", term, size)
                               : fmt::format("{} is {} by {}, and {} in it", term,
                                             known->second.size, known->second.from, size));
}

void SymbolSizes::check(const std::vector<std::string>& shape, const std::vector<int64_t>& sizes,
                        const std::string& name) {
  if (shape.size() != sizes.size())
    refuse(fmt::format("of {} dimensions, where {} are expected, {{{}}}", sizes.size(),
                       shape.size(), fmt::join(shape, ", ")));
  for (size_t i = 0; i < shape.size(); ++i) {
    if (sizes[i] < 1)
      refuse(fmt::format("empty, {{{}}}, where {{{}}} is expected", fmt::join(sizes, ", "),
                         fmt::join(shape, ", ")));
    check_term(shape[i], sizes[i], name);
  }
}

}  // namespace omnirt
