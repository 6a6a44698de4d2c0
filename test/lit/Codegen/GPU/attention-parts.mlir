// RUN: relax-opt %s -relax-emit-kernels | FileCheck %s

#query = affine_map<(q, t, f) -> (q, f)>
#key = affine_map<(q, t, f) -> (t, f)>
#score = affine_map<(q, t, f) -> (q, t)>
#id = affine_map<(q, t) -> (q, t)>
#row = affine_map<(q, t) -> (q)>
#weight = affine_map<(q, c, t) -> (q, t)>
#value = affine_map<(q, c, t) -> (t, c)>
#sum = affine_map<(q, c, t) -> (q, c)>

// Four blocks have 256 keys each, and each of their warps 64. A second launch
// combines the 16 parts, of 16 sums, a largest score and a total.
// CHECK-LABEL: gpu.func @one_query
// CHECK: arith.select %[[BY_WARPS:.*]], %c16{{.*}}, %c4{{.*}} : index
// CHECK: %[[SCRATCH:.*]] = memref.alloc(%{{.*}}) : memref<?xf32>
// CHECK: scf.if %[[BY_WARPS]] {
// CHECK: gpu.launch blocks({{.*}}) in (%{{.*}} = %c4{{.*}}, %{{.*}}, %{{.*}}) threads({{.*}}) in (%{{.*}} = %c128,
// CHECK: nvvm.mma.sync
// CHECK: vector.store {{.*}}, %[[SCRATCH]]
// CHECK: } else {
// CHECK: gpu.launch blocks
// CHECK: vector.store {{.*}}, %[[SCRATCH]]
// CHECK: gpu.launch blocks
// CHECK: memref.load %[[SCRATCH]]
// CHECK-NOT: nvvm.mma.sync
// CHECK: memref.dealloc %[[SCRATCH]]
func.func private @one_query(%q: tensor<1x16xf16>, %k: tensor<1024x16xf16>, %v: tensor<1024x16xf16>, %out: tensor<1x16xf32>) -> tensor<1x16xf32>
    attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<1x1024xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x1024xf32>) -> tensor<1x1024xf32>
  %scores = linalg.generic {indexing_maps = [#query, #key, #score], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<1x16xf16>, tensor<1024x16xf16>) outs(%1 : tensor<1x1024xf32>) {
  ^bb0(%a: f16, %b: f16, %sum: f32):
    %20 = arith.extf %a : f16 to f32
    %21 = arith.extf %b : f16 to f32
    %22 = arith.mulf %20, %21 : f32
    %23 = arith.addf %sum, %22 : f32
    linalg.yield %23 : f32
  } -> tensor<1x1024xf32>
  %2 = tensor.empty() : tensor<1xf32>
  %3 = linalg.fill ins(%lowest : f32) outs(%2 : tensor<1xf32>) -> tensor<1xf32>
  %largest = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%scores : tensor<1x1024xf32>) outs(%3 : tensor<1xf32>) {
  ^bb0(%score: f32, %max: f32):
    %20 = arith.maximumf %max, %score : f32
    linalg.yield %20 : f32
  } -> tensor<1xf32>
  %weights = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%scores, %largest : tensor<1x1024xf32>, tensor<1xf32>) outs(%0 : tensor<1x1024xf32>) {
  ^bb0(%score: f32, %max: f32, %weight: f32):
    %20 = arith.subf %score, %max : f32
    %21 = math.exp %20 : f32
    linalg.yield %21 : f32
  } -> tensor<1x1024xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%2 : tensor<1xf32>) -> tensor<1xf32>
  %totals = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%weights : tensor<1x1024xf32>) outs(%4 : tensor<1xf32>) {
  ^bb0(%weight: f32, %total: f32):
    %20 = arith.addf %total, %weight : f32
    linalg.yield %20 : f32
  } -> tensor<1xf32>
  %5 = tensor.empty() : tensor<1x16xf32>
  %6 = linalg.fill ins(%zero : f32) outs(%5 : tensor<1x16xf32>) -> tensor<1x16xf32>
  %sums = linalg.generic {indexing_maps = [#weight, #value, #sum], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%weights, %v : tensor<1x1024xf32>, tensor<1024x16xf16>) outs(%6 : tensor<1x16xf32>) {
  ^bb0(%weight: f32, %b: f16, %sum: f32):
    %20 = arith.extf %b : f16 to f32
    %21 = arith.mulf %weight, %20 : f32
    %22 = arith.addf %sum, %21 : f32
    linalg.yield %22 : f32
  } -> tensor<1x16xf32>
  %quotients = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums, %totals : tensor<1x16xf32>, tensor<1xf32>) outs(%5 : tensor<1x16xf32>) {
  ^bb0(%sum: f32, %total: f32, %quotient: f32):
    %20 = arith.divf %sum, %total : f32
    linalg.yield %20 : f32
  } -> tensor<1x16xf32>
  %result = bufferization.materialize_in_destination %quotients in %out : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<1x16xf32>
  return %result : tensor<1x16xf32>
}

// There are too few keys.
// CHECK-LABEL: gpu.func @few_keys
// CHECK-NOT: memref.alloc
// CHECK: nvvm.mma.sync
// CHECK-NOT: memref.alloc
// CHECK: gpu.return
func.func private @few_keys(%q: tensor<1x16xf16>, %k: tensor<511x16xf16>, %v: tensor<511x16xf16>, %out: tensor<1x16xf32>) -> tensor<1x16xf32>
    attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<1x511xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x511xf32>) -> tensor<1x511xf32>
  %scores = linalg.generic {indexing_maps = [#query, #key, #score], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<1x16xf16>, tensor<511x16xf16>) outs(%1 : tensor<1x511xf32>) {
  ^bb0(%a: f16, %b: f16, %sum: f32):
    %20 = arith.extf %a : f16 to f32
    %21 = arith.extf %b : f16 to f32
    %22 = arith.mulf %20, %21 : f32
    %23 = arith.addf %sum, %22 : f32
    linalg.yield %23 : f32
  } -> tensor<1x511xf32>
  %2 = tensor.empty() : tensor<1xf32>
  %3 = linalg.fill ins(%lowest : f32) outs(%2 : tensor<1xf32>) -> tensor<1xf32>
  %largest = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%scores : tensor<1x511xf32>) outs(%3 : tensor<1xf32>) {
  ^bb0(%score: f32, %max: f32):
    %20 = arith.maximumf %max, %score : f32
    linalg.yield %20 : f32
  } -> tensor<1xf32>
  %weights = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%scores, %largest : tensor<1x511xf32>, tensor<1xf32>) outs(%0 : tensor<1x511xf32>) {
  ^bb0(%score: f32, %max: f32, %weight: f32):
    %20 = arith.subf %score, %max : f32
    %21 = math.exp %20 : f32
    linalg.yield %21 : f32
  } -> tensor<1x511xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%2 : tensor<1xf32>) -> tensor<1xf32>
  %totals = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%weights : tensor<1x511xf32>) outs(%4 : tensor<1xf32>) {
  ^bb0(%weight: f32, %total: f32):
    %20 = arith.addf %total, %weight : f32
    linalg.yield %20 : f32
  } -> tensor<1xf32>
  %5 = tensor.empty() : tensor<1x16xf32>
  %6 = linalg.fill ins(%zero : f32) outs(%5 : tensor<1x16xf32>) -> tensor<1x16xf32>
  %sums = linalg.generic {indexing_maps = [#weight, #value, #sum], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%weights, %v : tensor<1x511xf32>, tensor<511x16xf16>) outs(%6 : tensor<1x16xf32>) {
  ^bb0(%weight: f32, %b: f16, %sum: f32):
    %20 = arith.extf %b : f16 to f32
    %21 = arith.mulf %weight, %20 : f32
    %22 = arith.addf %sum, %21 : f32
    linalg.yield %22 : f32
  } -> tensor<1x16xf32>
  %quotients = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums, %totals : tensor<1x16xf32>, tensor<1xf32>) outs(%5 : tensor<1x16xf32>) {
  ^bb0(%sum: f32, %total: f32, %quotient: f32):
    %20 = arith.divf %sum, %total : f32
    linalg.yield %20 : f32
  } -> tensor<1x16xf32>
  %result = bufferization.materialize_in_destination %quotients in %out : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<1x16xf32>
  return %result : tensor<1x16xf32>
}

// There are blocks enough, of 64 queries each.
// CHECK-LABEL: gpu.func @many_queries
// CHECK-NOT: memref.alloc
// CHECK: nvvm.mma.sync
// CHECK-NOT: memref.alloc
// CHECK: gpu.return
func.func private @many_queries(%q: tensor<8256x16xf16>, %k: tensor<1024x16xf16>, %v: tensor<1024x16xf16>, %out: tensor<8256x16xf32>) -> tensor<8256x16xf32>
    attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<8256x1024xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<8256x1024xf32>) -> tensor<8256x1024xf32>
  %scores = linalg.generic {indexing_maps = [#query, #key, #score], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<8256x16xf16>, tensor<1024x16xf16>) outs(%1 : tensor<8256x1024xf32>) {
  ^bb0(%a: f16, %b: f16, %sum: f32):
    %20 = arith.extf %a : f16 to f32
    %21 = arith.extf %b : f16 to f32
    %22 = arith.mulf %20, %21 : f32
    %23 = arith.addf %sum, %22 : f32
    linalg.yield %23 : f32
  } -> tensor<8256x1024xf32>
  %2 = tensor.empty() : tensor<8256xf32>
  %3 = linalg.fill ins(%lowest : f32) outs(%2 : tensor<8256xf32>) -> tensor<8256xf32>
  %largest = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%scores : tensor<8256x1024xf32>) outs(%3 : tensor<8256xf32>) {
  ^bb0(%score: f32, %max: f32):
    %20 = arith.maximumf %max, %score : f32
    linalg.yield %20 : f32
  } -> tensor<8256xf32>
  %weights = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%scores, %largest : tensor<8256x1024xf32>, tensor<8256xf32>) outs(%0 : tensor<8256x1024xf32>) {
  ^bb0(%score: f32, %max: f32, %weight: f32):
    %20 = arith.subf %score, %max : f32
    %21 = math.exp %20 : f32
    linalg.yield %21 : f32
  } -> tensor<8256x1024xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%2 : tensor<8256xf32>) -> tensor<8256xf32>
  %totals = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%weights : tensor<8256x1024xf32>) outs(%4 : tensor<8256xf32>) {
  ^bb0(%weight: f32, %total: f32):
    %20 = arith.addf %total, %weight : f32
    linalg.yield %20 : f32
  } -> tensor<8256xf32>
  %5 = tensor.empty() : tensor<8256x16xf32>
  %6 = linalg.fill ins(%zero : f32) outs(%5 : tensor<8256x16xf32>) -> tensor<8256x16xf32>
  %sums = linalg.generic {indexing_maps = [#weight, #value, #sum], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%weights, %v : tensor<8256x1024xf32>, tensor<1024x16xf16>) outs(%6 : tensor<8256x16xf32>) {
  ^bb0(%weight: f32, %b: f16, %sum: f32):
    %20 = arith.extf %b : f16 to f32
    %21 = arith.mulf %weight, %20 : f32
    %22 = arith.addf %sum, %21 : f32
    linalg.yield %22 : f32
  } -> tensor<8256x16xf32>
  %quotients = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums, %totals : tensor<8256x16xf32>, tensor<8256xf32>) outs(%5 : tensor<8256x16xf32>) {
  ^bb0(%sum: f32, %total: f32, %quotient: f32):
    %20 = arith.divf %sum, %total : f32
    linalg.yield %20 : f32
  } -> tensor<8256x16xf32>
  %result = bufferization.materialize_in_destination %quotients in %out : (tensor<8256x16xf32>, tensor<8256x16xf32>) -> tensor<8256x16xf32>
  return %result : tensor<8256x16xf32>
}
