// RUN: %roundtrip

// Values of algebraic data types.

// CHECK-LABEL: relax.func @VM03_adt
relax.func @VM03_adt(%x: !relax.tensor<[n], f32>, %o: !relax.object) -> !relax.object {
  // CHECK: %[[NIL:.*]] = relax.adt_make 0()
  %nil = relax.adt_make 0()
  // CHECK: %[[CONS:.*]] = relax.adt_make 1(%x, %[[NIL]]) : !relax.tensor<[n], f32>, !relax.object
  %cons = relax.adt_make 1(%x, %nil) : !relax.tensor<[n], f32>, !relax.object
  // CHECK: relax.adt_tag %o : !relax.object
  %tag = relax.adt_tag %o : !relax.object
  // CHECK: relax.match_cast %{{.*}} : !relax.prim<i64> -> !relax.prim<i64, t>
  %t = relax.match_cast %tag : !relax.prim<i64> -> !relax.prim<i64, t>
  // CHECK: relax.adt_get %[[CONS]][1] : !relax.object
  %rest = relax.adt_get %cons[1] : !relax.object
  relax.return %rest : !relax.object
}

// CHECK-LABEL: relax.func impure @VM05_fatal
relax.func impure @VM05_fatal() -> !relax.tuple<> {
  // CHECK: relax.fatal "no clause takes the value"
  %0 = relax.fatal "no clause takes the value"
  relax.return %0 : !relax.tuple<>
}
