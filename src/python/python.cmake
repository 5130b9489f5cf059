# The extension module of the Python package (python/omnirt): every layer but the command line, the server and the
# interface for C, linked to the libtorch of the user's own torch package. Where OMNIRT_PYTHON asks for it, since it
# needs nanobind and Python's headers. What is installed as the component `python` is what the wheel holds.
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module OPTIONAL_COMPONENTS Development.SABIModule)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_STRIP_TRAILING_WHITESPACE
                OUTPUT_VARIABLE nanobind_ROOT COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/python/*.cpp)
nanobind_add_module(omnirt_python STABLE_ABI NB_STATIC NOMINSIZE NB_SUPPRESS_WARNINGS ${sources})
target_link_libraries(omnirt_python PRIVATE omnirt_flags omnirt_all omnirt_torch)
target_precompile_headers(omnirt_python PRIVATE "\"tensor/aten_pch.hpp\"" <nanobind/nanobind.h>)
# Only the module's entry is to be seen: another library of the process may hold the same functions. It stays loaded,
# as the threads that it computes on do.
set(exports ${CMAKE_CURRENT_SOURCE_DIR}/python/exports.map)
target_link_options(omnirt_python PRIVATE LINKER:--version-script=${exports} LINKER:-z,nodelete LINKER:--as-needed)
set_target_properties(omnirt_python PROPERTIES OUTPUT_NAME _native LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/python
                      INSTALL_RPATH "$ORIGIN/../torch/lib" BUILD_WITH_INSTALL_RPATH ON LINK_DEPENDS ${exports})

set(to omnirt)
install(TARGETS omnirt_python LIBRARY DESTINATION ${to} COMPONENT python EXCLUDE_FROM_ALL)
# The program, which looks for libtorch from its own folder.
install(PROGRAMS $<TARGET_FILE:omnirt> DESTINATION ${to}/bin COMPONENT python EXCLUDE_FROM_ALL)
install(CODE "
  file(RPATH_CHANGE FILE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${to}/bin/omnirt\"
       OLD_RPATH \"${OMNIRT_TORCH}/lib\" NEW_RPATH [[$ORIGIN/../../torch/lib]])
" COMPONENT python EXCLUDE_FROM_ALL)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/models/ DESTINATION ${to}/share/omnirt/models COMPONENT python EXCLUDE_FROM_ALL)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${to} COMPONENT python EXCLUDE_FROM_ALL)
# Read before the module is loaded, which another libtorch would not let happen.
configure_file(${CMAKE_CURRENT_SOURCE_DIR}/python/build_facts.py.in ${CMAKE_BINARY_DIR}/python/_build.py @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/python/_build.py DESTINATION ${to} COMPONENT python EXCLUDE_FROM_ALL)
