# The header that tells builds apart: the version, and a digest of all headers, since plug-ins and the program hand C++
# objects to each other. Written again when a header changes, and only then touched.
file(GLOB_RECURSE omnirt_headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/*.hpp)
list(FILTER omnirt_headers EXCLUDE REGEX "/src/(cli|backends|serve|python)/")
set(OMNIRT_ABI_HEADER ${CMAKE_BINARY_DIR}/generated/omnirt_abi.hpp)
add_custom_command(
  OUTPUT ${CMAKE_BINARY_DIR}/generated/omnirt_abi.stamp
  BYPRODUCTS ${OMNIRT_ABI_HEADER}
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DOUTPUT=${OMNIRT_ABI_HEADER} -DVERSION=${PROJECT_VERSION}
          -P ${CMAKE_SOURCE_DIR}/cmake/abi_header.cmake
  COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/generated/omnirt_abi.stamp
  DEPENDS ${omnirt_headers} ${CMAKE_SOURCE_DIR}/cmake/abi_header.cmake
  VERBATIM)
add_custom_target(omnirt_abi DEPENDS ${CMAKE_BINARY_DIR}/generated/omnirt_abi.stamp)
