# find_package(belay [COMPONENTS runtime llm compiler]): static libraries with their headers.
#   belay::runtime   C and C++: executes programs
#   belay::llm       C and C++: generates text with language models
#   belay::compiler  C and C++: lowers archives
#   belay::kernels-gemm, …  C++: kernels that AddSelectedKernels() of runtime/kernels/selected_kernels.h adds
# All are defined, whatever the components. C++ needs C++20 and the headers of Abseil.
get_filename_component(_belay_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

set(belay_FOUND TRUE)
set(_belay_unknown ${belay_FIND_COMPONENTS})
set(_belay_families @FAMILIES@)
list(TRANSFORM _belay_families PREPEND kernels- OUTPUT_VARIABLE _belay_kernels)
list(REMOVE_ITEM _belay_unknown runtime llm compiler ${_belay_kernels})
if(_belay_unknown)
  set(belay_FOUND FALSE)
  list(JOIN _belay_unknown ", " _belay_unknown)
  list(JOIN _belay_kernels ", " _belay_kernels)
  set(belay_NOT_FOUND_MESSAGE
    "unknown components ${_belay_unknown}; the package has: runtime, llm, compiler, ${_belay_kernels}")
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
  foreach(_belay_family ${_belay_families})
    string(TOUPPER ${_belay_family} _belay_macro)
    add_library(belay::kernels-${_belay_family} INTERFACE IMPORTED)
    set_target_properties(belay::kernels-${_belay_family} PROPERTIES
      INTERFACE_COMPILE_DEFINITIONS BELAY_KERNELS_${_belay_macro}
      INTERFACE_LINK_LIBRARIES belay::runtime)
  endforeach()
endif()

unset(_belay_prefix)
unset(_belay_families)
unset(_belay_kernels)
unset(_belay_unknown)
