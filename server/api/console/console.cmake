# The console's files as text in the program.
set(BANDANA_CONSOLE_FILES "")
foreach(file arms.js calls.js chart.js console.css console.js create.js decide.js dom.js index.html model.js
        overview.js words.js)
  set(path ${CMAKE_CURRENT_LIST_DIR}/${file})
  file(READ ${path} text)
  string(APPEND BANDANA_CONSOLE_FILES "    {\"${file}\", R\"file(${text})file\"},\n")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/console_files.h.in
  ${PROJECT_BINARY_DIR}/generated/server/api/console/console_files.h @ONLY)
