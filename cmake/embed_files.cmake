# embed_files(<header> <folder> <files...>): writes, while configuring, a header with each file's bytes as an array and a list of
# all, name and content. A change of one of them configures again.
function(embed_files header folder)
  set(arrays "")
  set(list "")
  set(number 0)
  foreach(name IN LISTS ARGN)
    file(READ ${folder}/${name} bytes HEX)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/${name})
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(APPEND arrays "constexpr unsigned char embedded_${number}[] = {${bytes}};\n")
    string(APPEND list "    {\"${name}\", {reinterpret_cast<const char*>(embedded_${number}), sizeof embedded_${number}}},\n")
    math(EXPR number "${number} + 1")
  endforeach()
  file(CONFIGURE OUTPUT ${header} @ONLY CONTENT "#pragma once\n// Made by cmake/embed_files.cmake.\n${arrays}
const std::pair<std::string_view, std::string_view> embedded_files[] = {\n${list}};\n")
endfunction()
