# find_package(bandana-c), target bandana::c: libbandana and bandana.h.
get_filename_component(bandana_c_root "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
if(NOT TARGET bandana::c)
  add_library(bandana::c SHARED IMPORTED)
  set_target_properties(bandana::c PROPERTIES IMPORTED_LOCATION "${bandana_c_root}/libbandana.so.0" IMPORTED_SONAME libbandana.so.0
    INTERFACE_INCLUDE_DIRECTORIES "${bandana_c_root}/include")
endif()
