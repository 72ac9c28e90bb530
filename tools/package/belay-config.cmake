# find_package(belay [COMPONENTS runtime llm compiler]): static libraries with their headers.
#   belay::runtime   C and C++: executes programs
#   belay::llm       C and C++: generates text with language models
#   belay::compiler  C and C++: lowers archives
# All are defined, whatever the components. C++ needs C++20 and the headers of Abseil.
get_filename_component(_belay_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

set(belay_FOUND TRUE)
set(_belay_unknown ${belay_FIND_COMPONENTS})
list(REMOVE_ITEM _belay_unknown runtime llm compiler)
if(_belay_unknown)
  set(belay_FOUND FALSE)
  list(JOIN _belay_unknown ", " _belay_unknown)
  set(belay_NOT_FOUND_MESSAGE
    "unknown components ${_belay_unknown}; the package has: runtime, llm, compiler")
endif()

function(_belay_library component archive)
  add_library(belay::${component} STATIC IMPORTED)
  set_target_properties(belay::${component} PROPERTIES
    IMPORTED_LOCATION "${_belay_prefix}/lib/${archive}"
    INTERFACE_INCLUDE_DIRECTORIES "${_belay_prefix}/include;${_belay_prefix}/include/belay"
    INTERFACE_LINK_LIBRARIES "${ARGN}")
endfunction()

if(belay_FOUND AND NOT TARGET belay::runtime)
  _belay_library(runtime libbelay.a "@RUNTIME@")
  _belay_library(llm libbelay_llm.a "belay::runtime;@LLM@")
  _belay_library(compiler libbelay_compiler.a "belay::llm;belay::runtime;@COMPILER@")
endif()

unset(_belay_prefix)
unset(_belay_unknown)
