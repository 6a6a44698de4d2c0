// RUN: relax-opt %s -relax-attach-target="vector-bits=256 l1-bytes=49152 l2-bytes=2097152 features=sse2,avx512f" | FileCheck %s
// RUN: relax-opt %s -relax-attach-target | FileCheck %s --check-prefix=HOST
// RUN: relax-opt %s -relax-phase-normalize="vector-bits=128 tf32=true" | FileCheck %s --check-prefix=PHASE

// A target that is there gives way.

// CHECK: module attributes
// CHECK-SAME: #dlti.target_system_spec<"CPU" = #dlti.target_device_spec<
// CHECK-SAME: "vector_bits" = 256 : i64, "L1_cache_size_in_bytes" = 49152 : i64
// CHECK-SAME: "L2_cache_size_in_bytes" = 2097152 : i64, "features" = "sse2,avx512f"

// HOST: "vector_bits" = {{128|256|512}} : i64

// HOST-NOT: "GPU"

// PHASE: "vector_bits" = 128 : i64
// PHASE-SAME: "GPU" = #dlti.target_device_spec<"tf32" = true>
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
    "CPU" = #dlti.target_device_spec<"vector_bits" = 1024 : i64>>} {
}
