#include "cli/findings.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "base/printable.hpp"

namespace omnirt::cli {
namespace {

void print(const char* what, const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) fmt::print(stderr, "{}: {}\n", what, finding.text());
}

}  // namespace

void print_errors(const std::vector<Finding>& findings) {
  print("error", findings);
}
void print_warnings(const std::vector<Finding>& findings) {
  print("warning", findings);
}

int print_error(const Error& error, const FlagNames& fields) {
  if (const auto* invalid = dynamic_cast<const InvalidRequest*>(&error))
    print_errors(fields.in_flags(invalid->findings()));
  else
    fmt::print(stderr, "error: {}\n", printable_lines(error.what()));
  return error.exit_code();
}

int with_flag_names(const FlagNames& fields, const std::function<int()>& command) {
  try {
    return command();
  } catch (const InvalidRequest& error) {
    return print_error(error, fields);
  }
}

}  // namespace omnirt::cli
