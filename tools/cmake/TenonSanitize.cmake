# Included after ONNX, foreign code in which what is undefined is not ours to repair: UBSan is for the targets from here on.
if(TENON_SANITIZE MATCHES "undefined")
  add_compile_options(-fsanitize=undefined -fno-sanitize-recover=undefined)
endif()

# tenon_gcc_warns_wrongly(<files>): under AddressSanitizer GCC 12 warns of std::regex itself, and of members of a std::variant
# other than the one that it holds.
function(tenon_gcc_warns_wrongly)
  if(TENON_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -Wno-maybe-uninitialized)
  endif()
endfunction()
