#include "cli/findings.hpp"

#include "base/printable.hpp"
#include "cli/say.hpp"

namespace omnirt::cli {
namespace {

void print_all(const char* what, const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) note("{}: {}\n", what, finding.text());
}

}  // namespace

void print_errors(const std::vector<Finding>& findings) {
  print_all("error", findings);
}
void print_warnings(const std::vector<Finding>& findings) {
  print_all("warning", findings);
}

int print_error(const Error& error, const FlagNames& fields) {
  if (const auto* invalid = dynamic_cast<const InvalidRequest*>(&error))
    print_errors(fields.in_flags(invalid->findings()));
  else
    note("error: {}\n", printable_lines(error.what()));
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
