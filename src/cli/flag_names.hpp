#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/field_references.hpp"

namespace omnirt::cli {

// The flag of each field of a request, so that findings name what was typed.
class FlagNames {
 public:
  // `flag` with its dashes sets `field` ("config.seed") and all below it ("adapters[0]").
  void add(const std::string& field, const std::string& flag) { flags_[field] = {flag}; }
  // A flag without a value; `off` is the one that clears the field, or "".
  void add_switch(const std::string& field, const std::string& flag, const std::string& off) {
    flags_[field] = {.name = flag, .is_switch = true, .off = off};
  }
  // The field was given by `flag`, or by its own where it is "".
  void typed(const std::string& field, const std::string& flag = "") { typed_[field] = flag; }
  // Fields that no flag set are a file's, and are named as it names them.
  void from_file() { file_ = true; }
  // The flag of a field, "--seed"; "" where there is none.
  std::string flag_of(const std::string& field) const;
  // The finding for a user at a command line: "--seed (config.seed)" in place of a field that a
  // flag set, and flags in place of the fields that its fix names.
  Finding in_flags(Finding finding) const;
  std::vector<Finding> in_flags(std::vector<Finding> findings) const;
  // A fix with flags in place of the fields that it names: "--offload leaf" for
  // "config.offload=leaf". Names of no field stay as they are ("config.json").
  std::string with_flags(const std::string& text) const;

 private:
  struct Flag {
    std::string name;
    bool is_switch = false;
    std::string off{};
  };
  // "" where no flag sets the field.
  std::string shown(const FieldReference& reference) const;

  std::map<std::string, Flag> flags_;
  std::map<std::string, std::string> typed_;
  bool file_ = false;
};

}  // namespace omnirt::cli
