// RUN: relax-opt %s -split-input-file -verify-diagnostics

// RF09: a storage has one size.
relax.func @rf09_no_size(%x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.builtin.alloc_storage' op expected a size, either as an expression or as an operand}}
  %0 = relax.builtin.alloc_storage
  relax.return %x : !relax.object
}

// -----

relax.func @rf09_two_sizes(%x: !relax.object) -> !relax.object {
  %b = arith.constant 4 : i64
  // expected-error@+1 {{'relax.builtin.alloc_storage' op expected a size, either as an expression or as an operand}}
  %0 = relax.builtin.alloc_storage size <4>(%b)
  relax.return %x : !relax.object
}

// -----

relax.func @rf09_negative_size(%x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.builtin.alloc_storage' op expected a size of 0 or more, but got -4}}
  %0 = relax.builtin.alloc_storage size <-4>
  relax.return %x : !relax.object
}

// -----

// RF09: an offset belongs to a storage.
relax.func @rf09_offset_alone(%x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.builtin.alloc_tensor' op expected a storage and an offset, or neither}}
  %0 = "relax.builtin.alloc_tensor"() <{offset = 0 : i64, operandSegmentSizes = array<i32: 0, 0>}> : () -> !relax.tensor<[4], f32>
  relax.return %x : !relax.object
}

// -----

relax.func @rf09_negative_offset(%x: !relax.object) -> !relax.object {
  %0 = relax.builtin.alloc_storage size <64>
  // expected-error@+1 {{'relax.builtin.alloc_tensor' op expected an offset of 0 or more, but got -4}}
  %1 = relax.builtin.alloc_tensor from %0 at -4 : !relax.tensor<[4], f32>
  relax.return %x : !relax.object
}

// -----

// RF09: what does not fit is refused where the sizes are known.
relax.func @rf09_too_large(%x: !relax.object) -> !relax.object {
  // expected-note@+1 {{it is allocated here}}
  %0 = relax.builtin.alloc_storage size <64>
  // expected-error@+1 {{'relax.builtin.alloc_tensor' op needs 16 bytes at 52, but the storage has 64}}
  %1 = relax.builtin.alloc_tensor from %0 at 52 : !relax.tensor<[4], f32>
  relax.return %x : !relax.object
}

// -----

// RF09: a view shows what is there.
relax.func @rf09_view_dtype(%x: !relax.tensor<[4], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.builtin.view' op expected a view to keep data type and device of '!relax.tensor<[4], f32>', but got '!relax.tensor<[4], i32>'}}
  %0 = relax.builtin.view %x : !relax.tensor<[4], f32> -> !relax.tensor<[4], i32>
  relax.return %0 : !relax.tensor<[4], i32>
}

// -----

relax.func @rf09_view_elements(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.builtin.view' op expected a view to have as many elements as '!relax.tensor<[n, 4], f32>', but got '!relax.tensor<[n * 4 + 1], f32>'}}
  %0 = relax.builtin.view %x : !relax.tensor<[n, 4], f32> -> !relax.tensor<[n * 4 + 1], f32>
  relax.return %0 : !relax.tensor<[n * 4 + 1], f32>
}

// -----

relax.func @rf09_view_dims(%x: !relax.tensor<[4], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.builtin.view' op expected dimensions, in the type or as operands, but got '!relax.tensor<ndim = 2, f32>'}}
  %0 = relax.builtin.view %x : !relax.tensor<[4], f32> -> !relax.tensor<ndim = 2, f32>
  relax.return %0 : !relax.tensor<ndim = 2, f32>
}

// -----

relax.func @rf09_view_rank(%x: !relax.tensor<[4], f32>) -> !relax.object {
  %d = arith.constant 4 : i64
  // expected-error@+1 {{'relax.builtin.view' op expected 2 dimensions, but got 1}}
  %0 = relax.builtin.view %x(%d) : !relax.tensor<[4], f32> -> !relax.tensor<ndim = 2, f32>
  relax.return %0 : !relax.tensor<ndim = 2, f32>
}
