# The web page's files become part of the program.
include(${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake)
embed_files(${CMAKE_BINARY_DIR}/page/page_files.hpp ${CMAKE_SOURCE_DIR}/src/serve/page
            index.html style.css adapters.js app.js form.js mask.js server.js)
target_include_directories(omnirt_serve PRIVATE ${CMAKE_BINARY_DIR}/page)
