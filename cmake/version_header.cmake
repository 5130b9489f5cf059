cmake_minimum_required(VERSION 3.25)
# Writes OUTPUT with the versions that `omnirt --version` shows, and touches it when they changed only. Run as a script:
# SOURCE, OUTPUT, VERSION, LIBTORCH. Without git, or outside of a clone, the commit is empty.
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=10 HEAD OUTPUT_VARIABLE commit ERROR_QUIET
                OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
if(failed OR NOT EXISTS ${SOURCE}/.git)
  set(commit "")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT "#pragma once

// Written by cmake/version_header.cmake.
namespace omnirt {
inline constexpr const char* build_version = \"@VERSION@\";
inline constexpr const char* build_commit = \"@commit@\";
inline constexpr const char* build_libtorch = \"@LIBTORCH@\";
}  // namespace omnirt
")
