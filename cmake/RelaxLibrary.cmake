# The libraries of the compiler, one for each layer.

option(RELAX_MLIR_UNITY "Compile several files of a library as one" ON)

# What most of the files of a library read, compiled once. Reading the headers
# of MLIR is half of the time of most files.
set(RELAX_MLIR_HEADERS
    <mlir/Bytecode/BytecodeOpInterface.h>
    <mlir/Dialect/Arith/IR/Arith.h>
    <mlir/Dialect/Func/IR/FuncOps.h>
    <mlir/Dialect/Linalg/IR/Linalg.h>
    <mlir/Dialect/Math/IR/Math.h>
    <mlir/Dialect/MemRef/IR/MemRef.h>
    <mlir/Dialect/SCF/IR/SCF.h>
    <mlir/Dialect/Tensor/IR/Tensor.h>
    <mlir/Dialect/Vector/IR/VectorOps.h>
    <mlir/IR/BuiltinOps.h>
    <mlir/IR/OpImplementation.h>
    <mlir/IR/PatternMatch.h>
    <mlir/IR/SymbolTable.h>
    <mlir/Interfaces/FunctionInterfaces.h>
    <mlir/Interfaces/InferTypeOpInterface.h>
    <mlir/Interfaces/SideEffectInterfaces.h>
    <mlir/Pass/Pass.h>
    <llvm/ADT/TypeSwitch.h>
)

# Adds a library of position-independent code: the tools and the extension of
# Python link the same ones.
#
#   relax_library(name source... [DEPENDS library...]
#                 [PRECOMPILE header... | PRECOMPILED_BY library])
#
# Headers are precompiled by a library, for itself and for those that name it.
#
# A file may include the public headers of its own layer, the first folder below
# lib/, and of those that it depends on, directly or not; all others are an error
# of the build (scripts/check_includes.py).
function(relax_library name)
    cmake_parse_arguments(
        PARSE_ARGV 1
        arg
        ""
        "PRECOMPILED_BY"
        "DEPENDS;PRECOMPILE"
    )
    set(sources ${arg_UNPARSED_ARGUMENTS})
    add_library(${name} STATIC ${sources})
    set_property(GLOBAL APPEND PROPERTY RELAX_LIBRARIES ${name})
    target_link_libraries(
        ${name}
        PUBLIC ${arg_DEPENDS}
        PRIVATE relax_mlir_flags
    )
    add_dependencies(
        ${name}
        RelaxIRIncGen
        RelaxTransformsPassesIncGen
        RelaxConversionPassesIncGen
        RelaxCodegenPassesIncGen
        RelaxFusionPassesIncGen
        RelaxTransformOpsIncGen
    )

    file(
        RELATIVE_PATH
        folder
        ${PROJECT_SOURCE_DIR}/lib
        ${CMAKE_CURRENT_SOURCE_DIR}
    )
    string(REGEX REPLACE "/.*" "" layer ${folder})
    set(layers ${layer})
    foreach(library IN LISTS arg_DEPENDS)
        get_target_property(lower ${library} RELAX_LAYERS)
        list(APPEND layers ${lower})
    endforeach()
    list(REMOVE_DUPLICATES layers)
    set_target_properties(${name} PROPERTIES RELAX_LAYERS "${layers}")
    add_custom_command(
        TARGET ${name}
        PRE_LINK
        COMMAND
            ${Python3_EXECUTABLE}
            ${PROJECT_SOURCE_DIR}/scripts/check_includes.py
            ${CMAKE_CURRENT_SOURCE_DIR}
            ${PROJECT_SOURCE_DIR}/include/relax-mlir/${layer} --layers ${layers}
        VERBATIM
    )

    # Most of a file's time goes to templates of MLIR that all files instantiate.
    set_target_properties(
        ${name}
        PROPERTIES UNITY_BUILD ${RELAX_MLIR_UNITY} UNITY_BUILD_BATCH_SIZE 18
    )

    if(arg_PRECOMPILE)
        target_precompile_headers(${name} PRIVATE ${arg_PRECOMPILE})
    elseif(arg_PRECOMPILED_BY)
        target_precompile_headers(${name} REUSE_FROM ${arg_PRECOMPILED_BY})
    endif()
    if(arg_PRECOMPILE OR arg_PRECOMPILED_BY)
        if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
            # So that ccache sees what the precompiled header holds.
            target_compile_options(${name} PRIVATE -fpch-preprocess)
        endif()
    endif()
endfunction()
