# Plug-ins: shared libraries over the headers alone, whose symbols the program that loads them provides. Used by this
# build and installed for others (find_package(omnirt)).

# A program that loads plug-ins: all of the linked layers' symbols, also those that it does not use itself, are in it
# and open to what it loads.
function(omnirt_export_to_plugins target)
  set_target_properties(${target} PROPERTIES ENABLE_EXPORTS ON LINK_LIBRARY_OVERRIDE "WHOLE_ARCHIVE,${OMNIRT_LAYERS}")
endfunction()

# omnirt_add_plugin(<name> <sources>...): lib<name>.so
function(omnirt_add_plugin name)
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE omnirt::plugin)
endfunction()
