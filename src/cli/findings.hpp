#pragma once
#include <functional>
#include <vector>

#include "base/error.hpp"
#include "cli/flag_names.hpp"

namespace omnirt::cli {

// One line per finding on standard error, "error: ..." or "warning: ...".
void print_errors(const std::vector<Finding>& findings);
void print_warnings(const std::vector<Finding>& findings);
// An error with its findings, if it has any; returns the exit code.
int print_error(const Error& error, const FlagNames& fields = {});
// The exit code of `command`. An InvalidRequest that it throws, also before the request was whole,
// is printed by the flags' names.
int with_flag_names(const FlagNames& fields, const std::function<int()>& command);

}  // namespace omnirt::cli
