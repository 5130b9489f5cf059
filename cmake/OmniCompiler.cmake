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

# Files and requests come from outside, so everything but the kernels is compiled with the checks that distributions use.
# Sanitizers replace them; a target that is always sanitized sets its property OMNIRT_SANITIZED.
option(OMNIRT_HARDEN "compile with stack protection, fortified libc calls and control-flow protection" ON)
if(OMNIRT_HARDEN AND NOT OMNIRT_SANITIZE)
  set(fortified $<NOT:$<OR:$<CONFIG:Debug>,$<BOOL:$<TARGET_PROPERTY:OMNIRT_SANITIZED>>>>)
  target_compile_options(
    omnirt_flags INTERFACE -fstack-protector-strong -D_GLIBCXX_ASSERTIONS
                           "$<${fortified}:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3>")
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(omnirt_flags INTERFACE -fcf-protection=full)
  endif()
  add_link_options(LINKER:-z,relro,-z,now,-z,noexecstack)
endif()

# Inner loops over sizes that were checked before them.
function(omnirt_kernel_flags)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "-fno-stack-protector;-U_GLIBCXX_ASSERTIONS")
endfunction()
if(OMNIRT_SANITIZE)
  add_compile_options(-fsanitize=${OMNIRT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${OMNIRT_SANITIZE})
  # Kernels for fewer processors: they are half of what such a build compiles.
  add_compile_definitions(OMNIRT_FEW_TARGETS)
endif()
