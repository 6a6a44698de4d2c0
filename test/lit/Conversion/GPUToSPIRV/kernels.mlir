// RUN: relax-opt %s -relax-convert-gpu-to-spirv="serialize=false" -split-input-file | FileCheck %s
// RUN: relax-opt %s -relax-convert-gpu-to-spirv -split-input-file | FileCheck %s --check-prefix=BINARY

#env = #spirv.target_env<#spirv.vce<v1.0, [Kernel, Addresses, Int64, Int8, Int16], []>, #spirv.resource_limits<>>

// A memref is two pointers, an offset, sizes and strides; numbers have 64 bits.
// CHECK-LABEL: spirv.module @spirv_kernels Physical64 OpenCL
// CHECK: spirv.func @scale(%{{.*}}: !spirv.ptr<f32, CrossWorkgroup>, %[[X:.*]]: !spirv.ptr<f32, CrossWorkgroup>, %[[OFFSET:.*]]: i64, %{{.*}}: i64, %{{.*}}: i64, %[[ROW:.*]]: i64, %[[COLUMN:.*]]: i64, %[[FACTOR:.*]]: i64)
// CHECK-DAG: %[[BITS:.*]] = spirv.SConvert %[[FACTOR]] : i64 to i32
// CHECK-DAG: %[[F:.*]] = spirv.Bitcast %[[BITS]] : i32 to f32
// CHECK-DAG: %[[I:.*]] = spirv.CompositeExtract %{{.*}}[0 : i32] : vector<3xi64>
// CHECK: %[[A:.*]] = spirv.IMul %[[I]], %[[ROW]] : i64
// CHECK: %[[B:.*]] = spirv.IAdd %[[OFFSET]], %[[A]] : i64
// CHECK: %[[C:.*]] = spirv.IMul %{{.*}}, %[[COLUMN]] : i64
// CHECK: %[[PLACE:.*]] = spirv.IAdd %[[B]], %[[C]] : i64
// CHECK: %[[P:.*]] = spirv.PtrAccessChain %[[X]][%[[PLACE]]]
// CHECK: %[[E:.*]] = spirv.Load "CrossWorkgroup" %[[P]] ["Aligned", 4] : f32
// CHECK: %[[Y:.*]] = spirv.FMul %[[E]], %[[F]] : f32
// CHECK: spirv.Store "CrossWorkgroup" %{{.*}}, %[[Y]] ["Aligned", 4] : f32
// CHECK: spirv.EntryPoint "Kernel" @scale
// BINARY-LABEL: gpu.binary @kernels
// BINARY-SAME: bin = "{{.*}}\03\02#\07
gpu.module @kernels attributes {spirv.target_env = #env} {
  gpu.func @scale(%x: memref<?x?xf32, strided<[?, ?], offset: ?>>, %factor: f32) kernel {
    %i = gpu.block_id x
    %j = gpu.thread_id x
    %0 = memref.load %x[%i, %j] : memref<?x?xf32, strided<[?, ?], offset: ?>>
    %1 = arith.mulf %0, %factor : f32
    memref.store %1, %x[%i, %j] : memref<?x?xf32, strided<[?, ?], offset: ?>>
    gpu.return
  }
}

// -----

#env = #spirv.target_env<#spirv.vce<v1.0, [Kernel, Addresses, Int64, Int8, Int16], []>, #spirv.resource_limits<>>

// Threads share a variable; a barrier is one for all memory; loops are branches;
// bf16 is its bits, and computed in f32.
// CHECK-LABEL: spirv.module @spirv_shared
// CHECK: spirv.GlobalVariable @sums.shared0 : !spirv.ptr<!spirv.array<64 x f32>, Workgroup>
// CHECK: spirv.func @sums(%{{.*}}: !spirv.ptr<i16, CrossWorkgroup>
// CHECK: spirv.mlir.addressof @sums.shared0
// CHECK: spirv.Branch ^[[LOOP:.*]](
// CHECK: ^[[LOOP]](%{{.*}}: i64, %{{.*}}: f32):
// CHECK: spirv.BranchConditional
// CHECK: %[[BITS:.*]] = spirv.Load "CrossWorkgroup" %{{.*}} ["Aligned", 2] : i16
// CHECK: spirv.FAdd %{{.*}} : f32
// CHECK: spirv.ControlBarrier <Workgroup>, <Workgroup>, <SequentiallyConsistent|WorkgroupMemory|CrossWorkgroupMemory>
gpu.module @shared attributes {spirv.target_env = #env} {
  gpu.func @sums(%x: memref<?xbf16>, %y: memref<64xf32>, %n: index) workgroup(%shared: memref<64xf32, #gpu.address_space<workgroup>>) kernel {
    %i = gpu.thread_id x
    %c1 = arith.constant 1 : index
    %c63 = arith.constant 63 : index
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %at = %i to %n step %c1 iter_args(%carried = %zero) -> f32 {
      %0 = memref.load %x[%at] : memref<?xbf16>
      %1 = arith.extf %0 : bf16 to f32
      %2 = arith.addf %carried, %1 : f32
      scf.yield %2 : f32
    }
    memref.store %sum, %shared[%i] : memref<64xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %other = arith.subi %c63, %i : index
    %3 = memref.load %shared[%other] : memref<64xf32, #gpu.address_space<workgroup>>
    memref.store %3, %y[%i] : memref<64xf32>
    gpu.return
  }
}

// -----

#env = #spirv.target_env<#spirv.vce<v1.0, [Kernel, Addresses, Int64, Float16, Float64], []>, #spirv.resource_limits<>>

// Functions are extended instructions of OpenCL; those of f16 are computed in
// f32. What the dialect has no operation for is computed by others.
// CHECK-LABEL: spirv.module @spirv_functions
// CHECK-SAME: requires #spirv.vce<v1.0, [{{.*}}Float64{{.*}}], []>
// CHECK: spirv.CL.erf %{{.*}} : f64
// CHECK: spirv.FConvert %{{.*}} : f16 to f32
// CHECK: spirv.CL.tanh %{{.*}} : f32
// CHECK: spirv.CL.pow %{{.*}} : f64
// CHECK: spirv.CL.log %{{.*}} : f64
gpu.module @functions attributes {spirv.target_env = #env} {
  gpu.func @elementary(%x: memref<f64>, %h: memref<f16>) kernel {
    %0 = memref.load %x[] : memref<f64>
    %1 = math.erf %0 : f64
    %2 = memref.load %h[] : memref<f16>
    %3 = math.tanh %2 : f16
    memref.store %3, %h[] : memref<f16>
    %4 = math.exp2 %1 : f64
    %5 = math.log1p %4 : f64
    memref.store %5, %x[] : memref<f64>
    gpu.return
  }
}

// -----

#env = #spirv.target_env<#spirv.vce<v1.0, [Kernel, Addresses, Int64, Int8, Int16], []>, #spirv.resource_limits<>>

// Indices without signs: of booleans, of fewer bits, and to fewer bits.
// CHECK-LABEL: spirv.module @spirv_unsigned
// CHECK-DAG: %[[ZERO:.*]] = spirv.Constant 0 : i64
// CHECK-DAG: %[[ONE:.*]] = spirv.Constant 1 : i64
// CHECK: spirv.Select %{{.*}}, %[[ONE]], %[[ZERO]] : i1, i64
// CHECK: spirv.UConvert %{{.*}} : i32 to i64
// CHECK: spirv.UConvert %{{.*}} : i64 to i32
gpu.module @unsigned attributes {spirv.target_env = #env} {
  gpu.func @f(%x: memref<?xi32>) kernel {
    %i = gpu.thread_id x
    %word = memref.load %x[%i] : memref<?xi32>
    %c0 = arith.constant 0 : i32
    %is = arith.cmpi slt, %word, %c0 : i32
    %0 = arith.index_castui %is : i1 to index
    %1 = arith.index_castui %word : i32 to index
    %2 = arith.addi %0, %1 : index
    %3 = arith.index_castui %2 : index to i32
    memref.store %3, %x[%i] : memref<?xi32>
    gpu.return
  }
}
