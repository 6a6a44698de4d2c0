// RUN: relax-opt %s -split-input-file -verify-diagnostics

// GR03
// expected-error @+1 {{expected a device id of 0 or more, but got -1}}
module attributes {relax.global_info = {cpu = #relax.vdevice<"llvm", -1>}} {}

// -----

// expected-error @+1 {{expected the name of a memory scope}}
module attributes {relax.global_info = {cpu = #relax.vdevice<"llvm", 0, "">}} {}

// -----

// GR19
// expected-error @+1 {{expected virtual device 'cpu' to be #relax.vdevice, but got 1 : i64}}
module attributes {relax.global_info = {cpu = 1}} {}

// -----

// expected-error @+1 {{expected 'relax.global_info' to be a dictionary, but got 1 : i64}}
module attributes {relax.global_info = 1} {}

// -----

// expected-error @+1 {{has 'relax.global_info', which belongs on a module}}
relax.func @place(%x: !relax.object) -> !relax.object attributes {relax.global_info = {}} {
  relax.return %x : !relax.object
}

// -----

relax.func @OP08_shape(%s: !relax.shape<[n]>) -> !relax.object {
  // expected-error @+1 {{expected a tensor, or a tuple of tensors, but got '!relax.shape<[n]>'}}
  %0 = relax.to_vdevice %s to @cpu0 : !relax.shape<[n]>
  relax.return %s : !relax.shape<[n]>
}

// -----

relax.func @OP08_tuple(%t: !relax.tuple<!relax.tuple<!relax.object>>) -> !relax.object {
  // expected-error @+1 {{expected a tensor, or a tuple of tensors, but got '!relax.tuple<!relax.tuple<!relax.object>>'}}
  %0 = relax.hint_on_device %t on 0 : !relax.tuple<!relax.tuple<!relax.object>>
  relax.return %0 : !relax.tuple<!relax.tuple<!relax.object>>
}

// -----

relax.func @DR11_elementwise(%x: !relax.tensor<[n], f32, @a>, %y: !relax.tensor<[n], f32, @b>) -> !relax.object {
  // expected-error @+2 {{expected operands on the same virtual device, but got @a and @b; insert relax.to_vdevice}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = relax.add %x, %y : (!relax.tensor<[n], f32, @a>, !relax.tensor<[n], f32, @b>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

relax.func @DR11_matmul(%x: !relax.tensor<[n], f32, @a>, %y: !relax.tensor<[n], f32, @b>) -> !relax.object {
  // expected-error @+2 {{expected operands on the same virtual device, but got @a and @b}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = relax.matmul %x, %y : (!relax.tensor<[n], f32, @a>, !relax.tensor<[n], f32, @b>) -> !relax.tensor<[], f32>
  relax.return %0 : !relax.tensor<[], f32>
}

// -----

relax.func @DR11_concat(%x: !relax.tensor<[n], f32, @a>, %y: !relax.tensor<[n], f32, @b>) -> !relax.object {
  // expected-error @+2 {{expected operands on the same virtual device, but got @a and @b}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = relax.concat %x, %y {axis = 0} : (!relax.tensor<[n], f32, @a>, !relax.tensor<[n], f32, @b>) -> !relax.tensor<[n * 2], f32>
  relax.return %0 : !relax.tensor<[n * 2], f32>
}

// -----

// ST02: a device that is known does not become another one.
// expected-note @+1 {{the type is declared here}}
relax.func @ST02_result(%x: !relax.tensor<[n], f32, @a>) -> !relax.tensor<[n], f32, @b> {
  // expected-error @+1 {{expected a result of type '!relax.tensor<[n], f32, @b>', but got '!relax.tensor<[n], f32, @a>'}}
  relax.return %x : !relax.tensor<[n], f32, @a>
}
