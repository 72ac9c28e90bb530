# find_package(Belay): Belay::belay, the C interface with everything below it in one archive.
get_filename_component(_belay_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET Belay::belay)
  add_library(Belay::belay STATIC IMPORTED)
  set_target_properties(Belay::belay PROPERTIES
    IMPORTED_LOCATION "${_belay_prefix}/lib/libbelay.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_belay_prefix}/include"
    INTERFACE_LINK_LIBRARIES "@STATIC_FLAGS@")
endif()

unset(_belay_prefix)
