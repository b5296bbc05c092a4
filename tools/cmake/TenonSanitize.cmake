# Included after ONNX, so that UBSan applies only to later targets: we do not fix undefined behaviour in foreign code.
if(TENON_SANITIZE MATCHES "undefined")
  add_compile_options(-fsanitize=undefined -fno-sanitize-recover=undefined)
endif()

# tenon_gcc_warns_wrongly(<files>): turns off a false warning. With AddressSanitizer GCC 12 warns about std::regex
# itself, and about members of a std::variant that are not in use.
function(tenon_gcc_warns_wrongly)
  if(TENON_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -Wno-maybe-uninitialized)
  endif()
endfunction()
