// RUN: relax-opt %s -relax-convert-gpu-to-spirv -split-input-file -verify-diagnostics

#env = #spirv.target_env<#spirv.vce<v1.0, [Kernel, Addresses, Int64], []>, #spirv.resource_limits<>>

gpu.module @kernels attributes {spirv.target_env = #env} {
  // expected-error @+1 {{'gpu.func' op cannot have a parameter of type 'memref<?xi4>' on OpenCL}}
  gpu.func @narrow(%x: memref<?xi4>) kernel {
    gpu.return
  }
}

// -----

#env = #spirv.target_env<#spirv.vce<v1.0, [Kernel, Addresses, Int64], []>, #spirv.resource_limits<>>

gpu.module @kernels attributes {spirv.target_env = #env} {
  gpu.func @allocates(%n: index) kernel {
    // expected-error @+1 {{'memref.alloca' op cannot be lowered in a kernel of OpenCL}}
    %0 = memref.alloca(%n) : memref<?xf32>
    %zero = arith.constant 0.0 : f32
    memref.store %zero, %0[%n] : memref<?xf32>
    gpu.return
  }
}

// -----

#env = #spirv.target_env<#spirv.vce<v1.0, [Kernel, Addresses, Int64], []>, #spirv.resource_limits<>>

gpu.module @kernels attributes {spirv.target_env = #env} {
  gpu.func @shuffles(%x: memref<f32>) kernel {
    %0 = memref.load %x[] : memref<f32>
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    // expected-error @+1 {{failed to legalize operation 'gpu.shuffle'}}
    %1, %2 = gpu.shuffle xor %0, %c1, %c32 : f32
    memref.store %1, %x[] : memref<f32>
    gpu.return
  }
}
