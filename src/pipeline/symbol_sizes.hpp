#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace omnirt {

// The sizes of the symbols in ports' shapes ("B", "H/8") in one run: those that the request settles
// are set (Block::tell_sizes), the others are taken from the first value that has them; every
// further value must agree. A term is a symbol, a number, or a sum of them ("1 + E").
class SymbolSizes {
 public:
  // Throws InvalidFile where the symbol is known with another size.
  void set(const std::string& symbol, int64_t size) { bind(symbol, size, "the request"); }
  // Nothing where the symbol is not known yet.
  std::optional<int64_t> find(const std::string& symbol) const;
  // Compares the sizes of the value `name` with its port's shape. Throws InvalidFile that names
  // both, and where a symbol's size is from, for another rank, a size that differs, and one of 0.
  void check(const std::vector<std::string>& shape, const std::vector<int64_t>& sizes,
             const std::string& name);

 private:
  struct Known {
    int64_t size = 0;
    std::string from;
  };
  void bind(const std::string& symbol, int64_t size, const std::string& from);
  void check_term(const std::string& term, int64_t size, const std::string& name);

  std::map<std::string, Known> known_;
};

}  // namespace omnirt
