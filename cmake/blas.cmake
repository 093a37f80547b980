# bandana::blas: OpenBLAS and LAPACKE. A program that calls neither does not load them (--as-needed). The flags are one
# string, so that nothing comes between.
find_path(BANDANA_LAPACKE_INCLUDE lapacke.h REQUIRED)
find_path(BANDANA_CBLAS_INCLUDE cblas.h REQUIRED)
find_library(BANDANA_LAPACKE_LIBRARY lapacke REQUIRED)
find_library(BANDANA_OPENBLAS_LIBRARY openblas REQUIRED)
if(NOT TARGET bandana::blas)
  add_library(bandana::blas INTERFACE IMPORTED)
  set_property(TARGET bandana::blas PROPERTY INTERFACE_LINK_LIBRARIES
    "-Wl,--push-state,--as-needed,${BANDANA_LAPACKE_LIBRARY},${BANDANA_OPENBLAS_LIBRARY},--pop-state")
endif()
