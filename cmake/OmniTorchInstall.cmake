# Where installed programs find libtorch. One that lies in the source tree (scripts/setup fetched it) would go with the
# tree, so `make install` copies it: libraries, headers and its CMake package, since programs and plug-ins are built
# against it, too. One that OMNIRT_TORCH names elsewhere is the user's own and stays where it is.
cmake_path(IS_PREFIX CMAKE_SOURCE_DIR ${OMNIRT_TORCH} NORMALIZE lies_here)
# Kept for scripts/check_install.
set(OMNIRT_COPIES_TORCH ${lies_here} CACHE INTERNAL "libtorch is installed with the program")
if(OMNIRT_COPIES_TORCH)
  # Relative to the prefix, which may be moved.
  set(OMNIRT_INSTALLED_TORCH ${CMAKE_INSTALL_LIBDIR}/omnirt/torch)
  # Of its libraries those that are for Python and for torch's own tests are left out.
  install(DIRECTORY ${OMNIRT_TORCH}/lib DESTINATION ${OMNIRT_INSTALLED_TORCH} FILES_MATCHING PATTERN "*.so*"
          PATTERN "libtorch_python*" EXCLUDE PATTERN "libshm*" EXCLUDE PATTERN "*_test.so" EXCLUDE
          PATTERN "libbackend_with_compiler.so" EXCLUDE PATTERN "libaoti_custom_ops.so" EXCLUDE)
  install(DIRECTORY ${OMNIRT_TORCH}/include ${OMNIRT_TORCH}/share DESTINATION ${OMNIRT_INSTALLED_TORCH})
  file(GLOB omnirt_torch_licenses ${OMNIRT_TORCH}/../torch-*.dist-info/licenses)
  if(omnirt_torch_licenses)
    install(DIRECTORY ${omnirt_torch_licenses} DESTINATION ${OMNIRT_INSTALLED_TORCH})
  endif()
  # libtorch with CUDA looks for NVIDIA's libraries in ../../nvidia of its own folder.
  if(EXISTS ${OMNIRT_TORCH}/lib/libtorch_cuda.so AND IS_DIRECTORY ${OMNIRT_TORCH}/../nvidia)
    cmake_path(SET omnirt_nvidia NORMALIZE ${OMNIRT_TORCH}/../nvidia)
    install(DIRECTORY ${omnirt_nvidia} DESTINATION ${CMAKE_INSTALL_LIBDIR}/omnirt PATTERN "*.py" EXCLUDE
            PATTERN "__pycache__" EXCLUDE)
  endif()
else()
  set(OMNIRT_INSTALLED_TORCH ${OMNIRT_TORCH})
endif()

# omnirt_install_with_torch(<target> <destination>): installs a program or shared library whose RUNPATH in the build tree
# is that of OMNIRT_TORCH, with the one that is right there.
function(omnirt_install_with_torch target destination)
  install(TARGETS ${target} RUNTIME DESTINATION ${destination} LIBRARY DESTINATION ${destination})
  if(NOT OMNIRT_COPIES_TORCH)
    return()
  endif()
  cmake_path(RELATIVE_PATH OMNIRT_INSTALLED_TORCH BASE_DIRECTORY ${destination} OUTPUT_VARIABLE from_here)
  install(CODE "
    file(RPATH_CHANGE FILE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${destination}/$<TARGET_FILE_NAME:${target}>\"
         OLD_RPATH \"${OMNIRT_TORCH}/lib\" NEW_RPATH [[$ORIGIN/${from_here}/lib]])
  ")
endfunction()
