#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/prompt_compel_text.hpp"

// The grammar of compel's prompts, as its pyparsing expressions have it (compel 2.5.1,
// prompt_parser.build_parser_syntax): the first alternative that fits is taken, and what fits none
// is words.
namespace omnirt::text {

struct CompelNode;
using CompelNodes = std::vector<std::shared_ptr<const CompelNode>>;

struct CompelNode {
  enum class Kind { words, weighted, swap, adapter };
  Kind kind = Kind::words;
  std::string text{};      // of words, adapters' names, and a swap as it was written
  double weight = 1;       // of what is weighted
  CompelNodes children{};  // of what is weighted
};

// \( \) \" -> ( ) ", as compel does each time it makes a fragment: so many times, one after the
// other.
std::string compel_unescaped(std::string_view text, size_t times = 1);

class CompelGrammar : public CompelText {
 public:
  // `depth` of brackets around `text`; both views outlive this.
  CompelGrammar(std::string_view text, std::string_view field, size_t depth = 0)
      : CompelText(text, field), depth_(depth) {}

  struct Match {
    CompelNodes nodes;
    size_t end = 0;
  };
  using Maybe = std::optional<Match>;

  // ("a", "b").blend(1, 0.5)
  struct Operation {
    std::string_view name;  // of the operator, with its dot
    std::vector<CompelNodes> prompts;
    std::vector<std::string> options;  // a weight, a flag, or the name of name=value
    size_t end = 0;
  };

  Match prompt(size_t at);
  std::optional<Operation> operation(size_t at, const std::vector<std::string_view>& names);
  Match adapters(size_t at);  // withLora(name, 0.5) as often as it is there

 private:
  Maybe plain(size_t at) const;
  Maybe quoted(size_t at);
  Maybe quoted_prompt(size_t at);
  Maybe bracketed(size_t at);
  Maybe target(size_t at);
  Maybe attend(size_t at);
  Maybe weighted(size_t at);
  Maybe swap(size_t at);
  Maybe adapter(size_t at) const;
  Match fragment(size_t at, bool punctuation);

  size_t depth_;
  // What was found at a place before: each is tried by several alternatives.
  std::unordered_map<size_t, Maybe> brackets_, quotes_;
};

}  // namespace omnirt::text
