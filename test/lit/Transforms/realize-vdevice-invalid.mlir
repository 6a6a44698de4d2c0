// RUN: relax-opt %s -relax-realize-vdevice -split-input-file -verify-diagnostics

// DR16: the error names both devices and where they come from.
module attributes {relax.global_info = {a = #relax.vdevice<"llvm", 0>, b = #relax.vdevice<"llvm", 1>}} {
// expected-note @+2 {{@b comes from here}}
// expected-note @+1 {{@a comes from here}}
relax.func @DR16_result(%x: !relax.tensor<[n], f32, @a>) -> !relax.tensor<[n], f32, @b> {
  // expected-error @+1 {{'relax.exp' op needs virtual devices @b and @a to be one; insert relax.to_vdevice}}
  %0 = relax.exp %x : (!relax.tensor<[n], f32, @a>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}
}

// -----

module attributes {relax.global_info = {a = #relax.vdevice<"llvm", 0>, b = #relax.vdevice<"llvm", 1>}} {
// expected-note @+1 {{@a comes from here}}
relax.func @DR16_operands(%x: !relax.tensor<[n], f32, @a>, %y: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-note @+1 {{@b comes from here}}
  %0 = relax.to_vdevice %y to @b : !relax.tensor<[n], f32>
  %1 = relax.seq -> !relax.tensor<[n], f32> {
    // expected-error @+1 {{'relax.yield' op needs virtual devices @b and @a to be one}}
    relax.yield %0 : !relax.tensor<[n], f32, @b>
  }
  %2 = relax.add %1, %x : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32, @a>) -> !relax.tensor<[n], f32>
  relax.return %2 : !relax.tensor<[n], f32>
}
}

// -----

// DR16, rule 3.2
module attributes {relax.global_info = {a = #relax.vdevice<"llvm", 0>, b = #relax.vdevice<"llvm", 1>}} {
// expected-note @+1 {{@a comes from here}}
relax.func @DR16_cast(%x: !relax.tensor<[n], f32, @a>) -> !relax.object {
  // expected-note @+2 {{@b comes from here}}
  // expected-error @+1 {{'relax.match_cast' op needs virtual devices @a and @b to be one}}
  %0 = relax.match_cast %x : !relax.tensor<[n], f32, @a> -> !relax.tensor<[n], f32, @b>
  relax.return %0 : !relax.tensor<[n], f32, @b>
}
}

// -----

// DR16: branches on two devices where one is asked for.
module attributes {relax.global_info = {a = #relax.vdevice<"llvm", 0>, b = #relax.vdevice<"llvm", 1>}} {
// expected-note @+2 {{@b comes from here}}
// expected-note @+1 {{@a comes from here}}
relax.func @DR16_branches(%c: !relax.tensor<[], i1>, %x: !relax.tensor<[n], f32, @a>, %y: !relax.tensor<[n], f32, @b>) -> !relax.tensor<[n], f32, @a> {
  %0 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[n], f32> {
    relax.yield %x : !relax.tensor<[n], f32, @a>
  } else {
    // expected-error @+1 {{'relax.yield' op needs virtual devices @b and @a to be one}}
    relax.yield %y : !relax.tensor<[n], f32, @b>
  }
  relax.return %0 : !relax.tensor<[n], f32>
}
}

// -----

// DR16, rule 2: a packed function works where its result is.
module attributes {relax.global_info = {a = #relax.vdevice<"llvm", 0>, b = #relax.vdevice<"llvm", 1>}} {
// expected-note @+1 {{@a comes from here}}
relax.func @DR16_packed(%x: !relax.tensor<[n], f32, @a>) -> !relax.object attributes {is_pure = false} {
  // expected-note @+2 {{@b comes from here}}
  // expected-error @+1 {{'relax.call_packed' op needs virtual devices @a and @b to be one}}
  %0 = relax.call_packed "f"(%x) : (!relax.tensor<[n], f32, @a>) -> !relax.tensor<[n], f32, @b>
  relax.return %0 : !relax.tensor<[n], f32, @b>
}
}

// -----

// DR16: after all that, an operand without a device is an error.
module attributes {relax.global_info = {a = #relax.vdevice<"llvm", 0>}} {
// expected-note @+1 {{name the device in the type of this value, or insert relax.to_vdevice}}
relax.func @DR16_open(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  // expected-error @+1 {{'relax.exp' op expected operand 0 on a known virtual device, but got '!relax.tensor<[n], f32>'}}
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}
}

// -----

module attributes {relax.global_info = {a = #relax.vdevice<"llvm", 0>}} {
func.func private @kernel(%x: memref<?xf32>, %y: memref<?xf32>) {
  return
}
// expected-note @+1 {{name the device}}
relax.func @DR16_kernel(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  // expected-error @+1 {{'relax.call_tir' op expected operand 0 on a known virtual device}}
  %0 = relax.call_tir @kernel(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}
}

// -----

// OP08: a hint needs one device of that id.
module attributes {relax.global_info = {a = #relax.vdevice<"llvm", 0>}} {
relax.func @OP08_no_device(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error @+1 {{expected one virtual device with the id 3 in 'relax.global_info', but there is none}}
  %0 = relax.hint_on_device %x on 3 : !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}
}

// -----

module attributes {relax.global_info = {a = #relax.vdevice<"llvm", 0>, b = #relax.vdevice<"cuda", 0>}} {
relax.func @OP08_two_devices(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error @+1 {{expected one virtual device with the id 0 in 'relax.global_info', but there are @a, @b; use relax.to_vdevice}}
  %0 = relax.hint_on_device %x on 0 : !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}
}

// -----

// Without devices there is none to move to.
relax.func @OP08_no_module(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error @+1 {{expected one virtual device with the id 0 in 'relax.global_info', but there is none}}
  %0 = relax.hint_on_device %x on 0 : !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// WF24
// expected-note @+1 {{the module lists @a, @b}}
module attributes {relax.global_info = {a = #relax.vdevice<"llvm", 0>, b = #relax.vdevice<"llvm", 1>}} {
// expected-error @+1 {{'relax.func' op names virtual device @c, which is not listed in 'relax.global_info' [WF24]}}
relax.func @WF24_signature(%x: !relax.tuple<!relax.tensor<[n], f32, @c>>) -> !relax.object {
  relax.return %x : !relax.tuple<!relax.tensor<[n], f32, @c>>
}
relax.func impure @WF24_move(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error @+1 {{'relax.to_vdevice' op names virtual device @c, which is not listed}}
  %0 = relax.to_vdevice %x to @c : !relax.tensor<[n], f32>
  // expected-error @+1 {{'relax.call_packed' op names virtual device @d, which is not listed}}
  %1 = relax.call_packed "f"() {sinfo_args = [!relax.tensor<*, @d>]} : () -> !relax.object
  relax.return %0 : !relax.tensor<[n], f32, @c>
}
}

// -----

// expected-note @-2 {{the module lists no virtual devices}}
// expected-error @+1 {{names virtual device @a, which is not listed}}
relax.func @WF24_none(%x: !relax.tensor<[n], f32, @a>) -> !relax.object {
  relax.return %x : !relax.tensor<[n], f32, @a>
}
