# find_package(Belay): Belay::belay, the shared library, and Belay::belay_static, the same in one archive.
get_filename_component(_belay_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET Belay::belay)
  add_library(Belay::belay SHARED IMPORTED)
  set_target_properties(Belay::belay PROPERTIES
    IMPORTED_LOCATION "${_belay_prefix}/lib/libbelay.so.1"
    IMPORTED_SONAME "libbelay.so.1"
    INTERFACE_INCLUDE_DIRECTORIES "${_belay_prefix}/include")

  add_library(Belay::belay_static STATIC IMPORTED)
  set_target_properties(Belay::belay_static PROPERTIES
    IMPORTED_LOCATION "${_belay_prefix}/lib/libbelay.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_belay_prefix}/include"
    INTERFACE_LINK_LIBRARIES "@STATIC_FLAGS@")
endif()

unset(_belay_prefix)
