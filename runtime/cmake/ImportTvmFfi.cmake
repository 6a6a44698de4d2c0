# Defines the targets tvm_ffi::header and tvm_ffi::shared from the folder tvm_ffi
# of an unpacked wheel, for builds for another machine: there the package of the
# Python that runs the build is for the wrong one.
function(relax_import_tvm_ffi folder)
    set(library ${folder}/lib/libtvm_ffi.so)
    if(NOT EXISTS ${library})
        message(
            FATAL_ERROR
            "expected ${library}, from a wheel of apache-tvm-ffi for the "
            "machine that the runtime is built for"
        )
    endif()
    set(includes ${folder}/include ${folder}/3rdparty/dlpack/include)
    add_library(tvm_ffi::header INTERFACE IMPORTED GLOBAL)
    target_include_directories(tvm_ffi::header INTERFACE ${includes})
    add_library(tvm_ffi::shared SHARED IMPORTED GLOBAL)
    set_property(TARGET tvm_ffi::shared PROPERTY IMPORTED_LOCATION ${library})
    target_include_directories(tvm_ffi::shared INTERFACE ${includes})
endfunction()
