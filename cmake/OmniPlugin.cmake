# Plug-ins: shared libraries over the headers alone, whose symbols the program that loads them provides. Used by this
# build and installed for others (find_package(omnirt)).

# A program that loads plug-ins: all of the layers' symbols, also those that it does not use itself, are in it and open
# to what it loads. Each archive is taken whole once, before all others, so it does not matter which layers the program
# names, in which order, or how often CMake repeats them.
function(omnirt_export_to_plugins target)
  get_target_property(layers omnirt::omnirt INTERFACE_LINK_LIBRARIES)
  set(archives "")
  foreach(layer IN LISTS layers)
    get_target_property(type ${layer} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      list(APPEND archives "$<TARGET_FILE:${layer}>")
    endif()
  endforeach()
  list(JOIN archives "," archives)
  set_target_properties(${target} PROPERTIES ENABLE_EXPORTS ON)
  target_link_options(${target} PRIVATE "LINKER:--whole-archive,${archives},--no-whole-archive")
  target_link_libraries(${target} PRIVATE omnirt::omnirt)
endfunction()

# omnirt_add_plugin(<name> <sources>...): lib<name>.so
function(omnirt_add_plugin name)
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE omnirt::plugin)
endfunction()
