# Compiles one variant of a shader to a header: cmake -DGLSLANG=... -DSOURCE=... -DVARIANT=... -DSHADER=... -DHEADER=... -P
set(define)
if(NOT VARIANT STREQUAL "-")
  set(define -DIS_${VARIANT})
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
