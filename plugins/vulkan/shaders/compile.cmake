# Compiles one variant of a shader to a header: cmake -DGLSLANG=... -DSOURCE=... -DVARIANT=... -DSHADER=... -DHEADER=... -P
# A variant of several parts, such as float_shared, defines IS_<part> for each.
set(define)
if(NOT VARIANT STREQUAL "-")
  string(REPLACE "_" ";" parts ${VARIANT})
  list(TRANSFORM parts PREPEND -DIS_ OUTPUT_VARIABLE define)
endif()
execute_process(
  COMMAND ${GLSLANG} --quiet --target-env vulkan1.2 -g0 ${define} -V --vn ${SHADER}_words -o ${HEADER}.words ${SOURCE}
  RESULT_VARIABLE failed
  OUTPUT_VARIABLE said
  ERROR_VARIABLE said)
if(failed)
  message(FATAL_ERROR "${SOURCE} (${VARIANT}) does not compile:\n${said}")
endif()
file(READ ${HEADER}.words words)
string(REPLACE "const uint32_t" "inline constexpr uint32_t" words "${words}")
get_filename_component(name ${SOURCE} NAME)
file(WRITE ${HEADER} "// Made from ${name}.
#pragma once

#include \"pipelines.h\"

namespace tenon::vulkan::shaders {

${words}
inline constexpr Shader ${SHADER}{\"${SHADER}\", ${SHADER}_words};

}  // namespace tenon::vulkan::shaders
")
file(REMOVE ${HEADER}.words)
