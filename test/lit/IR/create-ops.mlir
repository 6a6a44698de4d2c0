// RUN: %roundtrip

// Tensors from a shape.

// CHECK-LABEL: relax.func @full
relax.func @full(%s: !relax.shape<[n, 4]>, %v: !relax.tensor<[], f32>) -> !relax.object {
  // CHECK: relax.full %s, %v : (!relax.shape<[n, 4]>, !relax.tensor<[], f32>) -> !relax.tensor<[n, 4], f32>
  %0 = relax.full %s, %v : (!relax.shape<[n, 4]>, !relax.tensor<[], f32>) -> !relax.tensor<[n, 4], f32>
  // The value is converted to `dtype` where it is given.
  // CHECK: relax.full %s, %v {dtype = i8} : (!relax.shape<[n, 4]>, !relax.tensor<[], f32>) -> !relax.tensor<[n, 4], i8>
  %1 = relax.full %s, %v {dtype = i8} : (!relax.shape<[n, 4]>, !relax.tensor<[], f32>) -> !relax.tensor<[n, 4], i8>
  relax.return %s : !relax.shape<[n, 4]>
}

// CHECK-LABEL: relax.func @fill
relax.func @fill(%s: !relax.shape<[n, 4]>, %e: !relax.shape<[]>) -> !relax.object {
  // CHECK: relax.zeros %s {dtype = f32} : (!relax.shape<[n, 4]>) -> !relax.tensor<[n, 4], f32>
  %0 = relax.zeros %s {dtype = f32} : (!relax.shape<[n, 4]>) -> !relax.tensor<[n, 4], f32>
  // CHECK: relax.ones %s {dtype = i1} : (!relax.shape<[n, 4]>) -> !relax.tensor<[n, 4], i1>
  %1 = relax.ones %s {dtype = i1} : (!relax.shape<[n, 4]>) -> !relax.tensor<[n, 4], i1>
  // CHECK: relax.ones %e {dtype = ui8} : (!relax.shape<[]>) -> !relax.tensor<[], ui8>
  %2 = relax.ones %e {dtype = ui8} : (!relax.shape<[]>) -> !relax.tensor<[], ui8>
  relax.return %s : !relax.shape<[n, 4]>
}
