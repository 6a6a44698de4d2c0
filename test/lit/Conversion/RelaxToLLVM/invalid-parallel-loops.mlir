// RUN: relax-opt %s -verify-diagnostics -relax-phase-outline

func.func private @kernel(%x: memref<8xf32>) {
  // expected-error@+1 {{cannot be lowered to LLVM: expected relax-phase-kernels to make loops of it}}
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%x : memref<8xf32>) {
  ^bb0(%old: f32):
    %0 = math.sin %old : f32
    linalg.yield %0 : f32
  }
  return
}
