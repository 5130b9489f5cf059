# `make install`: the program, libomnirt.so, its embedded model, libtorch, the libraries with their headers, and a CMake package.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
include(OmniTorchInstall)

omnirt_install_with_torch(omnirt ${CMAKE_INSTALL_BINDIR})
omnirt_install_with_torch(omnirt_shared ${CMAKE_INSTALL_LIBDIR})
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${CMAKE_SOURCE_DIR}/src/capi/omnirt.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig
           OUTPUT_VARIABLE OMNIRT_PREFIX_FROM_PC)
configure_file(${CMAKE_SOURCE_DIR}/cmake/omnirt.pc.in ${CMAKE_BINARY_DIR}/omnirt.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/omnirt.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/models/ DESTINATION ${CMAKE_INSTALL_DATADIR}/omnirt/models)

set(omnirt_targets omnirt_flags omnirt_torch omnirt_all)
set_target_properties(omnirt_plugin PROPERTIES EXPORT_NAME plugin)
set_target_properties(omnirt_all PROPERTIES EXPORT_NAME omnirt)
target_include_directories(omnirt_plugin INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/omnirt>)
file(STRINGS ${CMAKE_SOURCE_DIR}/src/layers.txt layer_lines REGEX "^[a-z]")
foreach(line IN LISTS layer_lines)
  string(REGEX REPLACE "^([a-z/]+) *:.*$" "\\1" folder "${line}")
  string(REPLACE "/" "_" name ${folder})
  if(name STREQUAL "capi" OR name STREQUAL "python")
    continue()  # for omnirt_shared, and for the Python package
  endif()
  set_target_properties(omnirt_${name} PROPERTIES EXPORT_NAME ${name})
  list(APPEND omnirt_targets omnirt_${name})
endforeach()
target_include_directories(omnirt_base PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/omnirt>)
install(TARGETS ${omnirt_targets} EXPORT omnirt ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/omnirt)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/src/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/omnirt FILES_MATCHING PATTERN "*.hpp"
        PATTERN "src/python" EXCLUDE)
install(FILES ${OMNIRT_ABI_HEADER} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/omnirt)
install(FILES ${CMAKE_SOURCE_DIR}/cmake/OmniPlugin.cmake ${CMAKE_SOURCE_DIR}/cmake/OmniCudart.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/omnirt)
# Apart from the others: plug-ins need none of the packages that the layers link.
install(TARGETS omnirt_plugin EXPORT omnirt-plugin)
foreach(part omnirt omnirt-plugin)
  install(EXPORT ${part} NAMESPACE omnirt:: FILE ${part}-targets.cmake
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/omnirt)
endforeach()

configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/omnirt-config.cmake.in ${CMAKE_BINARY_DIR}/omnirt-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/omnirt
                              PATH_VARS CMAKE_INSTALL_DATADIR OMNIRT_INSTALLED_TORCH)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/omnirt-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/omnirt-config.cmake ${CMAKE_BINARY_DIR}/omnirt-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/omnirt)

# The manual page and the completions are the program's own words, so the program writes them.
install(CODE "
  set(program \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/omnirt\")
  foreach(pair \"man|${CMAKE_INSTALL_MANDIR}/man1/omnirt.1\"
               \"completions bash|${CMAKE_INSTALL_DATADIR}/bash-completion/completions/omnirt\"
               \"completions zsh|${CMAKE_INSTALL_DATADIR}/zsh/site-functions/_omnirt\"
               \"completions fish|${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d/omnirt.fish\")
    string(REPLACE \"|\" \";\" parts \"\${pair}\")
    list(GET parts 0 words)
    list(GET parts 1 path)
    separate_arguments(words)
    execute_process(COMMAND \${program} \${words} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
    file(WRITE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/\${path}\" \"\${text}\")
    message(STATUS \"Installing: \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/\${path}\")
  endforeach()
")
