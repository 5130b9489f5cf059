#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace omnirt::cli {

// Which flag says which field of a request, so that findings name what was typed.
class FlagNames {
 public:
  // `flag` with its dashes says `field` ("config.seed") and all below it ("adapters[0]").
  void add(const std::string& field, const std::string& flag);
  // The field was given by its flag.
  void typed(const std::string& field) { typed_.insert(field); }
  // Fields that no flag set are a file's, and are named as it names them.
  void from_file() { file_ = true; }
  // The flag of a field, "--seed"; "" where none says it.
  std::string flag_of(const std::string& field) const;
  // The finding for a user at a command line: "--seed (config.seed)" in place of a field that a
  // flag set, and flags in place of the fields that its fix names.
  Finding in_flags(Finding finding) const;
  std::vector<Finding> in_flags(std::vector<Finding> findings) const;

 private:
  std::string with_flags(const std::string& text) const;
  std::map<std::string, std::string> flags_;
  std::set<std::string> typed_;
  bool file_ = false;
};

}  // namespace omnirt::cli
