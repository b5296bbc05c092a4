# tenon_onnx_lib: ONNX's C++ library (schemas, shape inference, function bodies, checker, inliner, version converter), built
# from the sources in the pinned Python wheel.
#
# An application may have another ONNX in the same process. Therefore the library uses the C++ and protobuf namespace
# tenon_onnx and its own file names: copies of the .proto files are edited here, and forwarding headers are written
# where the wheel's sources expect the original ones.
set(TENON_ONNX_VERSION 1.23.2)
set(TENON_PYTHON "" CACHE FILEPATH "Python with onnx==${TENON_ONNX_VERSION}; default build/venv, made by tools/setup")

function(tenon_find_onnx out_python out_folder)
  set(python ${TENON_PYTHON})
  if(NOT python AND DEFINED ENV{TENON_PYTHON})
    set(python $ENV{TENON_PYTHON})
  endif()
  if(NOT python)
    set(python ${tenon_SOURCE_DIR}/build/venv/bin/python)
    if(NOT EXISTS ${python})
      message(FATAL_ERROR "there is no ${python}: run tools/setup --python, which makes it, or name a Python that has "
                          "onnx==${TENON_ONNX_VERSION} with -DTENON_PYTHON=...")
    endif()
  endif()
  set(script "import onnx\nprint(onnx.__version__, onnx.__path__[0], sep='\\n')")
  execute_process(COMMAND ${python} -c "${script}" OUTPUT_VARIABLE answer RESULT_VARIABLE failed ERROR_VARIABLE error)
  if(failed)
    message(FATAL_ERROR "${python} has no onnx package: run tools/setup, or give -DTENON_PYTHON\n${error}")
  endif()
  string(REGEX MATCH "([^\n]+)\n([^\n]+)" _ "${answer}")
  if(NOT CMAKE_MATCH_1 STREQUAL TENON_ONNX_VERSION)
    message(FATAL_ERROR "${python} has onnx ${CMAKE_MATCH_1}, Tenon is pinned to ${TENON_ONNX_VERSION}: run tools/setup")
  endif()
  set(${out_python} ${python} PARENT_SCOPE)
  set(${out_folder} ${CMAKE_MATCH_2} PARENT_SCOPE)
endfunction()

tenon_find_onnx(TENON_PYTHON_FOUND wheel)
message(STATUS "ONNX: ${TENON_ONNX_VERSION} from ${wheel}")

# Copies the sources into the build folder, so that the compiler sees no path that differs between machines.
set(root ${tenon_BINARY_DIR}/onnx)
file(COPY ${wheel}/ DESTINATION ${root}/onnx FILES_MATCHING PATTERN "*.h" PATTERN "*.cc" PATTERN "backend" EXCLUDE
     PATTERN "reference" EXCLUDE PATTERN "__pycache__" EXCLUDE PATTERN "cpp2py_export.cc" EXCLUDE
     # Written below. If it were also copied, each configuration would change it and cause a full rebuild.
     PATTERN "onnx_pb.h" EXCLUDE REGEX "/shape_inference/implementation.cc$" EXCLUDE)

# With the lite runtime ONNX writes element types as numbers into its messages, although names are known there, too.
file(READ ${wheel}/shape_inference/implementation.cc text)
string(REPLACE "#ifndef ONNX_USE_LITE_PROTO" "#if 1" text "${text}")
file(CONFIGURE OUTPUT ${root}/onnx/shape_inference/implementation.cc CONTENT "${text}" @ONLY)

set(generated)
foreach(proto onnx-ml onnx-operators-ml onnx-data)
  file(READ ${wheel}/${proto}.proto text)
  string(REPLACE "package onnx;" "package tenon_onnx;" text "${text}")
  string(REPLACE "import \"onnx/" "import \"tenon_onnx/" text "${text}")
  file(CONFIGURE OUTPUT ${root}/tenon_onnx/${proto}.proto CONTENT "${text}" @ONLY)
  file(CONFIGURE OUTPUT ${root}/onnx/${proto}.pb.h CONTENT "#include \"tenon_onnx/${proto}.pb.h\"\n")
  set(outputs ${root}/tenon_onnx/${proto}.pb.cc ${root}/tenon_onnx/${proto}.pb.h)
  add_custom_command(
    OUTPUT ${outputs}
    COMMAND ${TENON_PROTOC} --proto_path=${root} --cpp_out=lite:${root} tenon_onnx/${proto}.proto
    DEPENDS ${root}/tenon_onnx/${proto}.proto
    COMMENT "protoc ${proto}.proto"
    VERBATIM)
  list(APPEND generated ${outputs})
endforeach()
# Replaces the wheel's header, which marks its classes as exported.
file(CONFIGURE OUTPUT ${root}/onnx/onnx_pb.h CONTENT "#pragma once\n#define ONNX_API\n#include \"onnx/onnx-ml.pb.h\"\n")

# Every version of every operator as TENON_OPERATOR(set, version, name). With this list core/ops makes only the
# schemas that a model needs, instead of all at start.
set(operators)
foreach(header operator_sets operator_sets_ml operator_sets_preview)
  file(STRINGS ${root}/onnx/defs/${header}.h lines REGEX "^class ONNX_(PREVIEW_)?OPERATOR_SET_SCHEMA_CLASS_NAME")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^class ONNX_PREVIEW_[A-Z_]+\\(" "TENON_OPERATOR(OnnxPreview, " line "${line}")
    string(REGEX REPLACE "^class ONNX_[A-Z_]+\\(" "TENON_OPERATOR(" line "${line}")
    string(REGEX REPLACE "\\).*" ")\n" line "${line}")
    string(APPEND operators "${line}")
  endforeach()
endforeach()
file(CONFIGURE OUTPUT ${root}/tenon_onnx/operators.inc CONTENT "${operators}" @ONLY)

file(GLOB_RECURSE sources ${root}/onnx/*.cc)
list(REMOVE_ITEM sources ${root}/onnx/defs/data_type_utils.cc) # core/ops/data_types.cc replaces it
add_custom_target(tenon_generated_onnx DEPENDS ${generated})
add_dependencies(tenon_generated tenon_generated_onnx)
if(TENON_PRECOMPILE) # the headers take most of the time; these two define templates that others use before
  set(compiled ${root}/onnx/defs/schema.cc ${root}/onnx/defs/tensor_proto_util.cc)
  list(REMOVE_ITEM sources ${compiled})
  set(batch 0)
  while(sources)
    list(SUBLIST sources 0 6 some)
    list(REMOVE_ITEM sources ${some})
    tenon_compile_together(together onnx_${batch} ${root} ${some})
    list(APPEND compiled ${together})
    math(EXPR batch "${batch} + 1")
  endwhile()
  set(sources ${compiled})
endif()
add_library(tenon_onnx_lib STATIC ${sources} ${generated})
target_include_directories(tenon_onnx_lib SYSTEM PUBLIC ${root})
target_compile_definitions(tenon_onnx_lib PUBLIC ONNX_ML=1 ONNX_NAMESPACE=tenon_onnx ONNX_USE_LITE_PROTO=1
                                          PRIVATE __ONNX_NO_DOC_STRINGS)
target_compile_options(tenon_onnx_lib PRIVATE -w -O1)
target_link_libraries(tenon_onnx_lib PUBLIC tenon_protobuf)
