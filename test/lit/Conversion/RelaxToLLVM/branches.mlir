// RUN: relax-opt %s --relax-convert-branches-to-llvm | FileCheck %s

// A tile that goes around a loop is an argument of its block.
// CHECK-LABEL: llvm.func @loop(
// CHECK:         llvm.call_intrinsic "llvm.x86.tilezero.internal"
// CHECK:         %[[ZERO:.*]] = llvm.call_intrinsic "llvm.x86.tilezero.internal"
// CHECK:         llvm.br ^[[HEAD:.*]](%[[ZERO]] : !llvm.x86_amx)
// CHECK:       ^[[HEAD]](%[[SUMS:.*]]: !llvm.x86_amx):
// CHECK:         %[[NEXT:.*]] = llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"(%{{.*}}, %{{.*}}, %{{.*}}, %[[SUMS]],
// CHECK:         llvm.cond_br %{{.*}}, ^[[HEAD]](%[[NEXT]] : !llvm.x86_amx), ^{{.*}}
// CHECK-NOT:     amx.
// CHECK-NOT:     cf.
llvm.func @loop(%again: i1) {
  %left = amx.tile_zero : !amx.tile<16x32xbf16>
  %zero = amx.tile_zero : !amx.tile<16x16xf32>
  cf.br ^head(%zero : !amx.tile<16x16xf32>)
^head(%sums: !amx.tile<16x16xf32>):
  %next = amx.tile_mulf %left, %left, %sums : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
  cf.cond_br %again, ^head(%next : !amx.tile<16x16xf32>), ^exit
^exit:
  llvm.return
}
