# Compiler flags, ccache, sanitizers. The binary is portable: no -march here; faster code is chosen at run time.
find_program(OMNIRT_CCACHE ccache)
if(OMNIRT_CCACHE)
  # Precompiled headers need these sloppiness flags to be cacheable.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${OMNIRT_CCACHE})
endif()

# -O3 buys nothing where the time is in kernels, and costs build time.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

add_library(omnirt_flags INTERFACE)
# Warnings that come from a compiler's flow analysis misfire with its version and even with the length of a path: they are
# errors for who asks, never for who only builds.
option(OMNIRT_WERROR "warnings are errors" OFF)
target_compile_options(omnirt_flags INTERFACE -Wall -Wextra $<$<BOOL:${OMNIRT_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # -Wrestrict misfires on std::string in GCC 12 (GCC bug 105651).
  target_compile_options(omnirt_flags INTERFACE -fpch-preprocess -Wno-restrict)
endif()
if(OMNIRT_SANITIZE)
  add_compile_options(-fsanitize=${OMNIRT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${OMNIRT_SANITIZE})
  # Kernels for fewer processors: they are half of what such a build compiles.
  add_compile_definitions(OMNIRT_FEW_TARGETS)
endif()
