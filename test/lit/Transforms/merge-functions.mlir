// RUN: relax-opt %s --relax-merge-functions --split-input-file | FileCheck %s

// The functions differ in a string, a bound that is used twice, and a stride:
// parameters of the code that they share. Constants that are equal stay.
// CHECK:       llvm.func @first.shared(%[[P:.*]]: !llvm.ptr, %[[NAME:.*]]: !llvm.ptr, %[[BOUND:.*]]: i64, %[[STRIDE:.*]]: i64) attributes {sym_visibility = "private"}
// CHECK:         %[[FOUR:.*]] = llvm.mlir.constant(4 : i64)
// CHECK:         llvm.call @report(%[[NAME]], %[[BOUND]])
// CHECK:         llvm.icmp "slt" %{{.*}}, %[[BOUND]]
// CHECK:         llvm.mul %{{.*}}, %[[STRIDE]]
// CHECK:         llvm.udiv %{{.*}}, %[[FOUR]]
// CHECK:       llvm.func @first(%[[P:.*]]: !llvm.ptr)
// CHECK-NEXT:    %[[NAME:.*]] = llvm.mlir.addressof @a
// CHECK-NEXT:    %[[BOUND:.*]] = llvm.mlir.constant(100 : i64)
// CHECK-NEXT:    %[[STRIDE:.*]] = llvm.mlir.constant(7 : i64)
// CHECK-NEXT:    llvm.call tail @first.shared(%[[P]], %[[NAME]], %[[BOUND]], %[[STRIDE]])
// CHECK-NEXT:    llvm.return
// CHECK:       llvm.func @second(%[[P:.*]]: !llvm.ptr)
// CHECK-NEXT:    %[[NAME:.*]] = llvm.mlir.addressof @b
// CHECK-NEXT:    %[[BOUND:.*]] = llvm.mlir.constant(200 : i64)
// CHECK-NEXT:    %[[STRIDE:.*]] = llvm.mlir.constant(9 : i64)
// CHECK-NEXT:    llvm.call tail @first.shared(%[[P]], %[[NAME]], %[[BOUND]], %[[STRIDE]])
// CHECK-NEXT:    llvm.return
llvm.mlir.global internal constant @a("a\00")
llvm.mlir.global internal constant @b("b\00")
llvm.func @report(!llvm.ptr, i64)

llvm.func @first(%p: !llvm.ptr) attributes {sym_visibility = "private"} {
  %name = llvm.mlir.addressof @a : !llvm.ptr
  %bound = llvm.mlir.constant(100 : i64) : i64
  %stride = llvm.mlir.constant(7 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %four = llvm.mlir.constant(4 : i64) : i64
  llvm.call @report(%name, %bound) : (!llvm.ptr, i64) -> ()
  llvm.br ^bb1(%zero : i64)
^bb1(%i: i64):
  %inside = llvm.icmp "slt" %i, %bound : i64
  llvm.cond_br %inside, ^bb2, ^bb3
^bb2:
  %place = llvm.mul %i, %stride : i64
  %block = llvm.udiv %place, %four : i64
  %from = llvm.getelementptr %p[%block] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %from : !llvm.ptr -> vector<8xf32>
  %x1 = llvm.fadd %x, %x : vector<8xf32>
  %x2 = llvm.fmul %x1, %x : vector<8xf32>
  %x3 = llvm.fmul %x2, %x : vector<8xf32>
  %x4 = llvm.fmul %x3, %x : vector<8xf32>
  %x5 = llvm.fmul %x4, %x : vector<8xf32>
  %x6 = llvm.fmul %x5, %x : vector<8xf32>
  %x7 = llvm.fmul %x6, %x : vector<8xf32>
  %x8 = llvm.fmul %x7, %x : vector<8xf32>
  %x9 = llvm.fmul %x8, %x : vector<8xf32>
  %x10 = llvm.fmul %x9, %x : vector<8xf32>
  %x11 = llvm.fmul %x10, %x : vector<8xf32>
  %x12 = llvm.fmul %x11, %x : vector<8xf32>
  %x13 = llvm.fmul %x12, %x : vector<8xf32>
  %x14 = llvm.fmul %x13, %x : vector<8xf32>
  %x15 = llvm.fmul %x14, %x : vector<8xf32>
  %x16 = llvm.fmul %x15, %x : vector<8xf32>
  %x17 = llvm.fmul %x16, %x : vector<8xf32>
  %x18 = llvm.fmul %x17, %x : vector<8xf32>
  %x19 = llvm.fmul %x18, %x : vector<8xf32>
  %x20 = llvm.fmul %x19, %x : vector<8xf32>
  %x21 = llvm.fmul %x20, %x : vector<8xf32>
  %x22 = llvm.fmul %x21, %x : vector<8xf32>
  %x23 = llvm.fmul %x22, %x : vector<8xf32>
  %x24 = llvm.fmul %x23, %x : vector<8xf32>
  %x25 = llvm.fmul %x24, %x : vector<8xf32>
  %x26 = llvm.fmul %x25, %x : vector<8xf32>
  %x27 = llvm.fmul %x26, %x : vector<8xf32>
  %x28 = llvm.fmul %x27, %x : vector<8xf32>
  %x29 = llvm.fmul %x28, %x : vector<8xf32>
  %x30 = llvm.fmul %x29, %x : vector<8xf32>
  llvm.store %x30, %from : vector<8xf32>, !llvm.ptr
  %next = llvm.add %i, %one : i64
  llvm.br ^bb1(%next : i64)
^bb3:
  llvm.return
}

llvm.func @second(%p: !llvm.ptr) attributes {sym_visibility = "private"} {
  %name = llvm.mlir.addressof @b : !llvm.ptr
  %bound = llvm.mlir.constant(200 : i64) : i64
  %stride = llvm.mlir.constant(9 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %four = llvm.mlir.constant(4 : i64) : i64
  llvm.call @report(%name, %bound) : (!llvm.ptr, i64) -> ()
  llvm.br ^bb1(%zero : i64)
^bb1(%i: i64):
  %inside = llvm.icmp "slt" %i, %bound : i64
  llvm.cond_br %inside, ^bb2, ^bb3
^bb2:
  %place = llvm.mul %i, %stride : i64
  %block = llvm.udiv %place, %four : i64
  %from = llvm.getelementptr %p[%block] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %from : !llvm.ptr -> vector<8xf32>
  %x1 = llvm.fadd %x, %x : vector<8xf32>
  %x2 = llvm.fmul %x1, %x : vector<8xf32>
  %x3 = llvm.fmul %x2, %x : vector<8xf32>
  %x4 = llvm.fmul %x3, %x : vector<8xf32>
  %x5 = llvm.fmul %x4, %x : vector<8xf32>
  %x6 = llvm.fmul %x5, %x : vector<8xf32>
  %x7 = llvm.fmul %x6, %x : vector<8xf32>
  %x8 = llvm.fmul %x7, %x : vector<8xf32>
  %x9 = llvm.fmul %x8, %x : vector<8xf32>
  %x10 = llvm.fmul %x9, %x : vector<8xf32>
  %x11 = llvm.fmul %x10, %x : vector<8xf32>
  %x12 = llvm.fmul %x11, %x : vector<8xf32>
  %x13 = llvm.fmul %x12, %x : vector<8xf32>
  %x14 = llvm.fmul %x13, %x : vector<8xf32>
  %x15 = llvm.fmul %x14, %x : vector<8xf32>
  %x16 = llvm.fmul %x15, %x : vector<8xf32>
  %x17 = llvm.fmul %x16, %x : vector<8xf32>
  %x18 = llvm.fmul %x17, %x : vector<8xf32>
  %x19 = llvm.fmul %x18, %x : vector<8xf32>
  %x20 = llvm.fmul %x19, %x : vector<8xf32>
  %x21 = llvm.fmul %x20, %x : vector<8xf32>
  %x22 = llvm.fmul %x21, %x : vector<8xf32>
  %x23 = llvm.fmul %x22, %x : vector<8xf32>
  %x24 = llvm.fmul %x23, %x : vector<8xf32>
  %x25 = llvm.fmul %x24, %x : vector<8xf32>
  %x26 = llvm.fmul %x25, %x : vector<8xf32>
  %x27 = llvm.fmul %x26, %x : vector<8xf32>
  %x28 = llvm.fmul %x27, %x : vector<8xf32>
  %x29 = llvm.fmul %x28, %x : vector<8xf32>
  %x30 = llvm.fmul %x29, %x : vector<8xf32>
  llvm.store %x30, %from : vector<8xf32>, !llvm.ptr
  %next = llvm.add %i, %one : i64
  llvm.br ^bb1(%next : i64)
^bb3:
  llvm.return
}

// -----

// A division by a constant is faster than one by a variable.
// CHECK-NOT: shared
llvm.mlir.global internal constant @a("a\00")
llvm.func @report(!llvm.ptr, i64)

llvm.func @divides_by_four(%p: !llvm.ptr) attributes {sym_visibility = "private"} {
  %name = llvm.mlir.addressof @a : !llvm.ptr
  %bound = llvm.mlir.constant(100 : i64) : i64
  %stride = llvm.mlir.constant(7 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %four = llvm.mlir.constant(4 : i64) : i64
  llvm.call @report(%name, %bound) : (!llvm.ptr, i64) -> ()
  llvm.br ^bb1(%zero : i64)
^bb1(%i: i64):
  %inside = llvm.icmp "slt" %i, %bound : i64
  llvm.cond_br %inside, ^bb2, ^bb3
^bb2:
  %place = llvm.mul %i, %stride : i64
  %block = llvm.udiv %place, %four : i64
  %from = llvm.getelementptr %p[%block] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %from : !llvm.ptr -> vector<8xf32>
  %x1 = llvm.fadd %x, %x : vector<8xf32>
  %x2 = llvm.fmul %x1, %x : vector<8xf32>
  %x3 = llvm.fmul %x2, %x : vector<8xf32>
  %x4 = llvm.fmul %x3, %x : vector<8xf32>
  %x5 = llvm.fmul %x4, %x : vector<8xf32>
  %x6 = llvm.fmul %x5, %x : vector<8xf32>
  %x7 = llvm.fmul %x6, %x : vector<8xf32>
  %x8 = llvm.fmul %x7, %x : vector<8xf32>
  %x9 = llvm.fmul %x8, %x : vector<8xf32>
  %x10 = llvm.fmul %x9, %x : vector<8xf32>
  %x11 = llvm.fmul %x10, %x : vector<8xf32>
  %x12 = llvm.fmul %x11, %x : vector<8xf32>
  %x13 = llvm.fmul %x12, %x : vector<8xf32>
  %x14 = llvm.fmul %x13, %x : vector<8xf32>
  %x15 = llvm.fmul %x14, %x : vector<8xf32>
  %x16 = llvm.fmul %x15, %x : vector<8xf32>
  %x17 = llvm.fmul %x16, %x : vector<8xf32>
  %x18 = llvm.fmul %x17, %x : vector<8xf32>
  %x19 = llvm.fmul %x18, %x : vector<8xf32>
  %x20 = llvm.fmul %x19, %x : vector<8xf32>
  %x21 = llvm.fmul %x20, %x : vector<8xf32>
  %x22 = llvm.fmul %x21, %x : vector<8xf32>
  %x23 = llvm.fmul %x22, %x : vector<8xf32>
  %x24 = llvm.fmul %x23, %x : vector<8xf32>
  %x25 = llvm.fmul %x24, %x : vector<8xf32>
  %x26 = llvm.fmul %x25, %x : vector<8xf32>
  %x27 = llvm.fmul %x26, %x : vector<8xf32>
  %x28 = llvm.fmul %x27, %x : vector<8xf32>
  %x29 = llvm.fmul %x28, %x : vector<8xf32>
  %x30 = llvm.fmul %x29, %x : vector<8xf32>
  llvm.store %x30, %from : vector<8xf32>, !llvm.ptr
  %next = llvm.add %i, %one : i64
  llvm.br ^bb1(%next : i64)
^bb3:
  llvm.return
}

llvm.func @divides_by_eight(%p: !llvm.ptr) attributes {sym_visibility = "private"} {
  %name = llvm.mlir.addressof @a : !llvm.ptr
  %bound = llvm.mlir.constant(100 : i64) : i64
  %stride = llvm.mlir.constant(7 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %four = llvm.mlir.constant(8 : i64) : i64
  llvm.call @report(%name, %bound) : (!llvm.ptr, i64) -> ()
  llvm.br ^bb1(%zero : i64)
^bb1(%i: i64):
  %inside = llvm.icmp "slt" %i, %bound : i64
  llvm.cond_br %inside, ^bb2, ^bb3
^bb2:
  %place = llvm.mul %i, %stride : i64
  %block = llvm.udiv %place, %four : i64
  %from = llvm.getelementptr %p[%block] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %from : !llvm.ptr -> vector<8xf32>
  %x1 = llvm.fadd %x, %x : vector<8xf32>
  %x2 = llvm.fmul %x1, %x : vector<8xf32>
  %x3 = llvm.fmul %x2, %x : vector<8xf32>
  %x4 = llvm.fmul %x3, %x : vector<8xf32>
  %x5 = llvm.fmul %x4, %x : vector<8xf32>
  %x6 = llvm.fmul %x5, %x : vector<8xf32>
  %x7 = llvm.fmul %x6, %x : vector<8xf32>
  %x8 = llvm.fmul %x7, %x : vector<8xf32>
  %x9 = llvm.fmul %x8, %x : vector<8xf32>
  %x10 = llvm.fmul %x9, %x : vector<8xf32>
  %x11 = llvm.fmul %x10, %x : vector<8xf32>
  %x12 = llvm.fmul %x11, %x : vector<8xf32>
  %x13 = llvm.fmul %x12, %x : vector<8xf32>
  %x14 = llvm.fmul %x13, %x : vector<8xf32>
  %x15 = llvm.fmul %x14, %x : vector<8xf32>
  %x16 = llvm.fmul %x15, %x : vector<8xf32>
  %x17 = llvm.fmul %x16, %x : vector<8xf32>
  %x18 = llvm.fmul %x17, %x : vector<8xf32>
  %x19 = llvm.fmul %x18, %x : vector<8xf32>
  %x20 = llvm.fmul %x19, %x : vector<8xf32>
  %x21 = llvm.fmul %x20, %x : vector<8xf32>
  %x22 = llvm.fmul %x21, %x : vector<8xf32>
  %x23 = llvm.fmul %x22, %x : vector<8xf32>
  %x24 = llvm.fmul %x23, %x : vector<8xf32>
  %x25 = llvm.fmul %x24, %x : vector<8xf32>
  %x26 = llvm.fmul %x25, %x : vector<8xf32>
  %x27 = llvm.fmul %x26, %x : vector<8xf32>
  %x28 = llvm.fmul %x27, %x : vector<8xf32>
  %x29 = llvm.fmul %x28, %x : vector<8xf32>
  %x30 = llvm.fmul %x29, %x : vector<8xf32>
  llvm.store %x30, %from : vector<8xf32>, !llvm.ptr
  %next = llvm.add %i, %one : i64
  llvm.br ^bb1(%next : i64)
^bb3:
  llvm.return
}

// -----

// Less code than the calls would be.
// CHECK-NOT: shared
llvm.mlir.global internal constant @a("a\00")
llvm.func @report(!llvm.ptr, i64)

llvm.func @short(%p: !llvm.ptr) attributes {sym_visibility = "private"} {
  %name = llvm.mlir.addressof @a : !llvm.ptr
  %bound = llvm.mlir.constant(100 : i64) : i64
  %stride = llvm.mlir.constant(7 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %four = llvm.mlir.constant(4 : i64) : i64
  llvm.call @report(%name, %bound) : (!llvm.ptr, i64) -> ()
  llvm.br ^bb1(%zero : i64)
^bb1(%i: i64):
  %inside = llvm.icmp "slt" %i, %bound : i64
  llvm.cond_br %inside, ^bb2, ^bb3
^bb2:
  %place = llvm.mul %i, %stride : i64
  %block = llvm.udiv %place, %four : i64
  %from = llvm.getelementptr %p[%block] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %from : !llvm.ptr -> vector<8xf32>
  %x1 = llvm.fadd %x, %x : vector<8xf32>
  llvm.store %x1, %from : vector<8xf32>, !llvm.ptr
  %next = llvm.add %i, %one : i64
  llvm.br ^bb1(%next : i64)
^bb3:
  llvm.return
}

llvm.func @other_short(%p: !llvm.ptr) attributes {sym_visibility = "private"} {
  %name = llvm.mlir.addressof @a : !llvm.ptr
  %bound = llvm.mlir.constant(200 : i64) : i64
  %stride = llvm.mlir.constant(7 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %four = llvm.mlir.constant(4 : i64) : i64
  llvm.call @report(%name, %bound) : (!llvm.ptr, i64) -> ()
  llvm.br ^bb1(%zero : i64)
^bb1(%i: i64):
  %inside = llvm.icmp "slt" %i, %bound : i64
  llvm.cond_br %inside, ^bb2, ^bb3
^bb2:
  %place = llvm.mul %i, %stride : i64
  %block = llvm.udiv %place, %four : i64
  %from = llvm.getelementptr %p[%block] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %from : !llvm.ptr -> vector<8xf32>
  %x1 = llvm.fadd %x, %x : vector<8xf32>
  llvm.store %x1, %from : vector<8xf32>, !llvm.ptr
  %next = llvm.add %i, %one : i64
  llvm.br ^bb1(%next : i64)
^bb3:
  llvm.return
}

// -----

// Others may call a function that is not private, and compare its address.
// CHECK-NOT: shared
llvm.mlir.global internal constant @a("a\00")
llvm.func @report(!llvm.ptr, i64)

llvm.func @private(%p: !llvm.ptr) attributes {sym_visibility = "private"} {
  %name = llvm.mlir.addressof @a : !llvm.ptr
  %bound = llvm.mlir.constant(100 : i64) : i64
  %stride = llvm.mlir.constant(7 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %four = llvm.mlir.constant(4 : i64) : i64
  llvm.call @report(%name, %bound) : (!llvm.ptr, i64) -> ()
  llvm.br ^bb1(%zero : i64)
^bb1(%i: i64):
  %inside = llvm.icmp "slt" %i, %bound : i64
  llvm.cond_br %inside, ^bb2, ^bb3
^bb2:
  %place = llvm.mul %i, %stride : i64
  %block = llvm.udiv %place, %four : i64
  %from = llvm.getelementptr %p[%block] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %from : !llvm.ptr -> vector<8xf32>
  %x1 = llvm.fadd %x, %x : vector<8xf32>
  %x2 = llvm.fmul %x1, %x : vector<8xf32>
  %x3 = llvm.fmul %x2, %x : vector<8xf32>
  %x4 = llvm.fmul %x3, %x : vector<8xf32>
  %x5 = llvm.fmul %x4, %x : vector<8xf32>
  %x6 = llvm.fmul %x5, %x : vector<8xf32>
  %x7 = llvm.fmul %x6, %x : vector<8xf32>
  %x8 = llvm.fmul %x7, %x : vector<8xf32>
  %x9 = llvm.fmul %x8, %x : vector<8xf32>
  %x10 = llvm.fmul %x9, %x : vector<8xf32>
  %x11 = llvm.fmul %x10, %x : vector<8xf32>
  %x12 = llvm.fmul %x11, %x : vector<8xf32>
  %x13 = llvm.fmul %x12, %x : vector<8xf32>
  %x14 = llvm.fmul %x13, %x : vector<8xf32>
  %x15 = llvm.fmul %x14, %x : vector<8xf32>
  %x16 = llvm.fmul %x15, %x : vector<8xf32>
  %x17 = llvm.fmul %x16, %x : vector<8xf32>
  %x18 = llvm.fmul %x17, %x : vector<8xf32>
  %x19 = llvm.fmul %x18, %x : vector<8xf32>
  %x20 = llvm.fmul %x19, %x : vector<8xf32>
  %x21 = llvm.fmul %x20, %x : vector<8xf32>
  %x22 = llvm.fmul %x21, %x : vector<8xf32>
  %x23 = llvm.fmul %x22, %x : vector<8xf32>
  %x24 = llvm.fmul %x23, %x : vector<8xf32>
  %x25 = llvm.fmul %x24, %x : vector<8xf32>
  %x26 = llvm.fmul %x25, %x : vector<8xf32>
  %x27 = llvm.fmul %x26, %x : vector<8xf32>
  %x28 = llvm.fmul %x27, %x : vector<8xf32>
  %x29 = llvm.fmul %x28, %x : vector<8xf32>
  %x30 = llvm.fmul %x29, %x : vector<8xf32>
  llvm.store %x30, %from : vector<8xf32>, !llvm.ptr
  %next = llvm.add %i, %one : i64
  llvm.br ^bb1(%next : i64)
^bb3:
  llvm.return
}

llvm.func @public(%p: !llvm.ptr) {
  %name = llvm.mlir.addressof @a : !llvm.ptr
  %bound = llvm.mlir.constant(200 : i64) : i64
  %stride = llvm.mlir.constant(7 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %four = llvm.mlir.constant(4 : i64) : i64
  llvm.call @report(%name, %bound) : (!llvm.ptr, i64) -> ()
  llvm.br ^bb1(%zero : i64)
^bb1(%i: i64):
  %inside = llvm.icmp "slt" %i, %bound : i64
  llvm.cond_br %inside, ^bb2, ^bb3
^bb2:
  %place = llvm.mul %i, %stride : i64
  %block = llvm.udiv %place, %four : i64
  %from = llvm.getelementptr %p[%block] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %from : !llvm.ptr -> vector<8xf32>
  %x1 = llvm.fadd %x, %x : vector<8xf32>
  %x2 = llvm.fmul %x1, %x : vector<8xf32>
  %x3 = llvm.fmul %x2, %x : vector<8xf32>
  %x4 = llvm.fmul %x3, %x : vector<8xf32>
  %x5 = llvm.fmul %x4, %x : vector<8xf32>
  %x6 = llvm.fmul %x5, %x : vector<8xf32>
  %x7 = llvm.fmul %x6, %x : vector<8xf32>
  %x8 = llvm.fmul %x7, %x : vector<8xf32>
  %x9 = llvm.fmul %x8, %x : vector<8xf32>
  %x10 = llvm.fmul %x9, %x : vector<8xf32>
  %x11 = llvm.fmul %x10, %x : vector<8xf32>
  %x12 = llvm.fmul %x11, %x : vector<8xf32>
  %x13 = llvm.fmul %x12, %x : vector<8xf32>
  %x14 = llvm.fmul %x13, %x : vector<8xf32>
  %x15 = llvm.fmul %x14, %x : vector<8xf32>
  %x16 = llvm.fmul %x15, %x : vector<8xf32>
  %x17 = llvm.fmul %x16, %x : vector<8xf32>
  %x18 = llvm.fmul %x17, %x : vector<8xf32>
  %x19 = llvm.fmul %x18, %x : vector<8xf32>
  %x20 = llvm.fmul %x19, %x : vector<8xf32>
  %x21 = llvm.fmul %x20, %x : vector<8xf32>
  %x22 = llvm.fmul %x21, %x : vector<8xf32>
  %x23 = llvm.fmul %x22, %x : vector<8xf32>
  %x24 = llvm.fmul %x23, %x : vector<8xf32>
  %x25 = llvm.fmul %x24, %x : vector<8xf32>
  %x26 = llvm.fmul %x25, %x : vector<8xf32>
  %x27 = llvm.fmul %x26, %x : vector<8xf32>
  %x28 = llvm.fmul %x27, %x : vector<8xf32>
  %x29 = llvm.fmul %x28, %x : vector<8xf32>
  %x30 = llvm.fmul %x29, %x : vector<8xf32>
  llvm.store %x30, %from : vector<8xf32>, !llvm.ptr
  %next = llvm.add %i, %one : i64
  llvm.br ^bb1(%next : i64)
^bb3:
  llvm.return
}

// -----

// LLVM vectorizes loops without vectors by what it knows of their sizes.
// CHECK-NOT: shared
llvm.mlir.global internal constant @a("a\00")
llvm.func @report(!llvm.ptr, i64)

llvm.func @scalar(%p: !llvm.ptr) attributes {sym_visibility = "private"} {
  %name = llvm.mlir.addressof @a : !llvm.ptr
  %bound = llvm.mlir.constant(100 : i64) : i64
  %stride = llvm.mlir.constant(7 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %four = llvm.mlir.constant(4 : i64) : i64
  llvm.call @report(%name, %bound) : (!llvm.ptr, i64) -> ()
  llvm.br ^bb1(%zero : i64)
^bb1(%i: i64):
  %inside = llvm.icmp "slt" %i, %bound : i64
  llvm.cond_br %inside, ^bb2, ^bb3
^bb2:
  %place = llvm.mul %i, %stride : i64
  %block = llvm.udiv %place, %four : i64
  %from = llvm.getelementptr %p[%block] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %from : !llvm.ptr -> f32
  %x1 = llvm.fadd %x, %x : f32
  %x2 = llvm.fmul %x1, %x : f32
  %x3 = llvm.fmul %x2, %x : f32
  %x4 = llvm.fmul %x3, %x : f32
  %x5 = llvm.fmul %x4, %x : f32
  %x6 = llvm.fmul %x5, %x : f32
  %x7 = llvm.fmul %x6, %x : f32
  %x8 = llvm.fmul %x7, %x : f32
  %x9 = llvm.fmul %x8, %x : f32
  %x10 = llvm.fmul %x9, %x : f32
  %x11 = llvm.fmul %x10, %x : f32
  %x12 = llvm.fmul %x11, %x : f32
  %x13 = llvm.fmul %x12, %x : f32
  %x14 = llvm.fmul %x13, %x : f32
  %x15 = llvm.fmul %x14, %x : f32
  %x16 = llvm.fmul %x15, %x : f32
  %x17 = llvm.fmul %x16, %x : f32
  %x18 = llvm.fmul %x17, %x : f32
  %x19 = llvm.fmul %x18, %x : f32
  %x20 = llvm.fmul %x19, %x : f32
  %x21 = llvm.fmul %x20, %x : f32
  %x22 = llvm.fmul %x21, %x : f32
  %x23 = llvm.fmul %x22, %x : f32
  %x24 = llvm.fmul %x23, %x : f32
  %x25 = llvm.fmul %x24, %x : f32
  %x26 = llvm.fmul %x25, %x : f32
  %x27 = llvm.fmul %x26, %x : f32
  %x28 = llvm.fmul %x27, %x : f32
  %x29 = llvm.fmul %x28, %x : f32
  %x30 = llvm.fmul %x29, %x : f32
  llvm.store %x30, %from : f32, !llvm.ptr
  %next = llvm.add %i, %one : i64
  llvm.br ^bb1(%next : i64)
^bb3:
  llvm.return
}

llvm.func @other_scalar(%p: !llvm.ptr) attributes {sym_visibility = "private"} {
  %name = llvm.mlir.addressof @a : !llvm.ptr
  %bound = llvm.mlir.constant(200 : i64) : i64
  %stride = llvm.mlir.constant(7 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %four = llvm.mlir.constant(4 : i64) : i64
  llvm.call @report(%name, %bound) : (!llvm.ptr, i64) -> ()
  llvm.br ^bb1(%zero : i64)
^bb1(%i: i64):
  %inside = llvm.icmp "slt" %i, %bound : i64
  llvm.cond_br %inside, ^bb2, ^bb3
^bb2:
  %place = llvm.mul %i, %stride : i64
  %block = llvm.udiv %place, %four : i64
  %from = llvm.getelementptr %p[%block] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %from : !llvm.ptr -> f32
  %x1 = llvm.fadd %x, %x : f32
  %x2 = llvm.fmul %x1, %x : f32
  %x3 = llvm.fmul %x2, %x : f32
  %x4 = llvm.fmul %x3, %x : f32
  %x5 = llvm.fmul %x4, %x : f32
  %x6 = llvm.fmul %x5, %x : f32
  %x7 = llvm.fmul %x6, %x : f32
  %x8 = llvm.fmul %x7, %x : f32
  %x9 = llvm.fmul %x8, %x : f32
  %x10 = llvm.fmul %x9, %x : f32
  %x11 = llvm.fmul %x10, %x : f32
  %x12 = llvm.fmul %x11, %x : f32
  %x13 = llvm.fmul %x12, %x : f32
  %x14 = llvm.fmul %x13, %x : f32
  %x15 = llvm.fmul %x14, %x : f32
  %x16 = llvm.fmul %x15, %x : f32
  %x17 = llvm.fmul %x16, %x : f32
  %x18 = llvm.fmul %x17, %x : f32
  %x19 = llvm.fmul %x18, %x : f32
  %x20 = llvm.fmul %x19, %x : f32
  %x21 = llvm.fmul %x20, %x : f32
  %x22 = llvm.fmul %x21, %x : f32
  %x23 = llvm.fmul %x22, %x : f32
  %x24 = llvm.fmul %x23, %x : f32
  %x25 = llvm.fmul %x24, %x : f32
  %x26 = llvm.fmul %x25, %x : f32
  %x27 = llvm.fmul %x26, %x : f32
  %x28 = llvm.fmul %x27, %x : f32
  %x29 = llvm.fmul %x28, %x : f32
  %x30 = llvm.fmul %x29, %x : f32
  llvm.store %x30, %from : f32, !llvm.ptr
  %next = llvm.add %i, %one : i64
  llvm.br ^bb1(%next : i64)
^bb3:
  llvm.return
}

// -----

// Alike in everything but one operation, and but one value.
// CHECK-NOT: shared
llvm.mlir.global internal constant @a("a\00")
llvm.func @report(!llvm.ptr, i64)

llvm.func @multiplies(%p: !llvm.ptr) attributes {sym_visibility = "private"} {
  %name = llvm.mlir.addressof @a : !llvm.ptr
  %bound = llvm.mlir.constant(100 : i64) : i64
  %stride = llvm.mlir.constant(7 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %four = llvm.mlir.constant(4 : i64) : i64
  llvm.call @report(%name, %bound) : (!llvm.ptr, i64) -> ()
  llvm.br ^bb1(%zero : i64)
^bb1(%i: i64):
  %inside = llvm.icmp "slt" %i, %bound : i64
  llvm.cond_br %inside, ^bb2, ^bb3
^bb2:
  %place = llvm.mul %i, %stride : i64
  %block = llvm.udiv %place, %four : i64
  %from = llvm.getelementptr %p[%block] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %from : !llvm.ptr -> vector<8xf32>
  %x1 = llvm.fadd %x, %x : vector<8xf32>
  %x2 = llvm.fmul %x1, %x : vector<8xf32>
  %x3 = llvm.fmul %x2, %x : vector<8xf32>
  %x4 = llvm.fmul %x3, %x : vector<8xf32>
  %x5 = llvm.fmul %x4, %x : vector<8xf32>
  %x6 = llvm.fmul %x5, %x : vector<8xf32>
  %x7 = llvm.fmul %x6, %x : vector<8xf32>
  %x8 = llvm.fmul %x7, %x : vector<8xf32>
  %x9 = llvm.fmul %x8, %x : vector<8xf32>
  %x10 = llvm.fmul %x9, %x : vector<8xf32>
  %x11 = llvm.fmul %x10, %x : vector<8xf32>
  %x12 = llvm.fmul %x11, %x : vector<8xf32>
  %x13 = llvm.fmul %x12, %x : vector<8xf32>
  %x14 = llvm.fmul %x13, %x : vector<8xf32>
  %x15 = llvm.fmul %x14, %x : vector<8xf32>
  %x16 = llvm.fmul %x15, %x : vector<8xf32>
  %x17 = llvm.fmul %x16, %x : vector<8xf32>
  %x18 = llvm.fmul %x17, %x : vector<8xf32>
  %x19 = llvm.fmul %x18, %x : vector<8xf32>
  %x20 = llvm.fmul %x19, %x : vector<8xf32>
  %x21 = llvm.fmul %x20, %x : vector<8xf32>
  %x22 = llvm.fmul %x21, %x : vector<8xf32>
  %x23 = llvm.fmul %x22, %x : vector<8xf32>
  %x24 = llvm.fmul %x23, %x : vector<8xf32>
  %x25 = llvm.fmul %x24, %x : vector<8xf32>
  %x26 = llvm.fmul %x25, %x : vector<8xf32>
  %x27 = llvm.fmul %x26, %x : vector<8xf32>
  %x28 = llvm.fmul %x27, %x : vector<8xf32>
  %x29 = llvm.fmul %x28, %x : vector<8xf32>
  %x30 = llvm.fmul %x29, %x : vector<8xf32>
  llvm.store %x30, %from : vector<8xf32>, !llvm.ptr
  %next = llvm.add %i, %one : i64
  llvm.br ^bb1(%next : i64)
^bb3:
  llvm.return
}

llvm.func @adds(%p: !llvm.ptr) attributes {sym_visibility = "private"} {
  %name = llvm.mlir.addressof @a : !llvm.ptr
  %bound = llvm.mlir.constant(100 : i64) : i64
  %stride = llvm.mlir.constant(7 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %four = llvm.mlir.constant(4 : i64) : i64
  llvm.call @report(%name, %bound) : (!llvm.ptr, i64) -> ()
  llvm.br ^bb1(%zero : i64)
^bb1(%i: i64):
  %inside = llvm.icmp "slt" %i, %bound : i64
  llvm.cond_br %inside, ^bb2, ^bb3
^bb2:
  %place = llvm.mul %i, %stride : i64
  %block = llvm.udiv %place, %four : i64
  %from = llvm.getelementptr %p[%block] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %from : !llvm.ptr -> vector<8xf32>
  %x1 = llvm.fadd %x, %x : vector<8xf32>
  %x2 = llvm.fmul %x1, %x : vector<8xf32>
  %x3 = llvm.fmul %x2, %x : vector<8xf32>
  %x4 = llvm.fmul %x3, %x : vector<8xf32>
  %x5 = llvm.fmul %x4, %x : vector<8xf32>
  %x6 = llvm.fmul %x5, %x : vector<8xf32>
  %x7 = llvm.fmul %x6, %x : vector<8xf32>
  %x8 = llvm.fmul %x7, %x : vector<8xf32>
  %x9 = llvm.fadd %x8, %x : vector<8xf32>
  %x10 = llvm.fmul %x9, %x : vector<8xf32>
  %x11 = llvm.fmul %x10, %x : vector<8xf32>
  %x12 = llvm.fmul %x11, %x : vector<8xf32>
  %x13 = llvm.fmul %x12, %x : vector<8xf32>
  %x14 = llvm.fmul %x13, %x : vector<8xf32>
  %x15 = llvm.fmul %x14, %x : vector<8xf32>
  %x16 = llvm.fmul %x15, %x : vector<8xf32>
  %x17 = llvm.fmul %x16, %x : vector<8xf32>
  %x18 = llvm.fmul %x17, %x : vector<8xf32>
  %x19 = llvm.fmul %x18, %x : vector<8xf32>
  %x20 = llvm.fmul %x19, %x : vector<8xf32>
  %x21 = llvm.fmul %x20, %x : vector<8xf32>
  %x22 = llvm.fmul %x21, %x : vector<8xf32>
  %x23 = llvm.fmul %x22, %x : vector<8xf32>
  %x24 = llvm.fmul %x23, %x : vector<8xf32>
  %x25 = llvm.fmul %x24, %x : vector<8xf32>
  %x26 = llvm.fmul %x25, %x : vector<8xf32>
  %x27 = llvm.fmul %x26, %x : vector<8xf32>
  %x28 = llvm.fmul %x27, %x : vector<8xf32>
  %x29 = llvm.fmul %x28, %x : vector<8xf32>
  %x30 = llvm.fmul %x29, %x : vector<8xf32>
  llvm.store %x30, %from : vector<8xf32>, !llvm.ptr
  %next = llvm.add %i, %one : i64
  llvm.br ^bb1(%next : i64)
^bb3:
  llvm.return
}

llvm.func @other_value(%p: !llvm.ptr) attributes {sym_visibility = "private"} {
  %name = llvm.mlir.addressof @a : !llvm.ptr
  %bound = llvm.mlir.constant(100 : i64) : i64
  %stride = llvm.mlir.constant(7 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %four = llvm.mlir.constant(4 : i64) : i64
  llvm.call @report(%name, %bound) : (!llvm.ptr, i64) -> ()
  llvm.br ^bb1(%zero : i64)
^bb1(%i: i64):
  %inside = llvm.icmp "slt" %i, %bound : i64
  llvm.cond_br %inside, ^bb2, ^bb3
^bb2:
  %place = llvm.mul %i, %stride : i64
  %block = llvm.udiv %place, %four : i64
  %from = llvm.getelementptr %p[%block] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %from : !llvm.ptr -> vector<8xf32>
  %x1 = llvm.fadd %x, %x : vector<8xf32>
  %x2 = llvm.fmul %x1, %x : vector<8xf32>
  %x3 = llvm.fmul %x2, %x : vector<8xf32>
  %x4 = llvm.fmul %x3, %x : vector<8xf32>
  %x5 = llvm.fmul %x4, %x : vector<8xf32>
  %x6 = llvm.fmul %x5, %x : vector<8xf32>
  %x7 = llvm.fmul %x6, %x : vector<8xf32>
  %x8 = llvm.fmul %x7, %x : vector<8xf32>
  %x9 = llvm.fmul %x7, %x : vector<8xf32>
  %x10 = llvm.fmul %x9, %x : vector<8xf32>
  %x11 = llvm.fmul %x10, %x : vector<8xf32>
  %x12 = llvm.fmul %x11, %x : vector<8xf32>
  %x13 = llvm.fmul %x12, %x : vector<8xf32>
  %x14 = llvm.fmul %x13, %x : vector<8xf32>
  %x15 = llvm.fmul %x14, %x : vector<8xf32>
  %x16 = llvm.fmul %x15, %x : vector<8xf32>
  %x17 = llvm.fmul %x16, %x : vector<8xf32>
  %x18 = llvm.fmul %x17, %x : vector<8xf32>
  %x19 = llvm.fmul %x18, %x : vector<8xf32>
  %x20 = llvm.fmul %x19, %x : vector<8xf32>
  %x21 = llvm.fmul %x20, %x : vector<8xf32>
  %x22 = llvm.fmul %x21, %x : vector<8xf32>
  %x23 = llvm.fmul %x22, %x : vector<8xf32>
  %x24 = llvm.fmul %x23, %x : vector<8xf32>
  %x25 = llvm.fmul %x24, %x : vector<8xf32>
  %x26 = llvm.fmul %x25, %x : vector<8xf32>
  %x27 = llvm.fmul %x26, %x : vector<8xf32>
  %x28 = llvm.fmul %x27, %x : vector<8xf32>
  %x29 = llvm.fmul %x28, %x : vector<8xf32>
  %x30 = llvm.fmul %x29, %x : vector<8xf32>
  llvm.store %x30, %from : vector<8xf32>, !llvm.ptr
  %next = llvm.add %i, %one : i64
  llvm.br ^bb1(%next : i64)
^bb3:
  llvm.return
}

// -----

// Some arguments of intrinsics have to be constants.
// CHECK-NOT: shared
llvm.mlir.global internal constant @a("a\00")
llvm.func @llvm.prefetch.p0(!llvm.ptr, i32, i32, i32)

llvm.func @near(%p: !llvm.ptr) attributes {sym_visibility = "private"} {
  %name = llvm.mlir.addressof @a : !llvm.ptr
  %bound = llvm.mlir.constant(100 : i64) : i64
  %stride = llvm.mlir.constant(7 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %four = llvm.mlir.constant(4 : i64) : i64
  %locality = llvm.mlir.constant(1 : i32) : i32
  %rw = llvm.mlir.constant(0 : i32) : i32
  %data = llvm.mlir.constant(1 : i32) : i32
  llvm.call @llvm.prefetch.p0(%p, %rw, %locality, %data) : (!llvm.ptr, i32, i32, i32) -> ()
  llvm.br ^bb1(%zero : i64)
^bb1(%i: i64):
  %inside = llvm.icmp "slt" %i, %bound : i64
  llvm.cond_br %inside, ^bb2, ^bb3
^bb2:
  %place = llvm.mul %i, %stride : i64
  %block = llvm.udiv %place, %four : i64
  %from = llvm.getelementptr %p[%block] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %from : !llvm.ptr -> vector<8xf32>
  %x1 = llvm.fadd %x, %x : vector<8xf32>
  %x2 = llvm.fmul %x1, %x : vector<8xf32>
  %x3 = llvm.fmul %x2, %x : vector<8xf32>
  %x4 = llvm.fmul %x3, %x : vector<8xf32>
  %x5 = llvm.fmul %x4, %x : vector<8xf32>
  %x6 = llvm.fmul %x5, %x : vector<8xf32>
  %x7 = llvm.fmul %x6, %x : vector<8xf32>
  %x8 = llvm.fmul %x7, %x : vector<8xf32>
  %x9 = llvm.fmul %x8, %x : vector<8xf32>
  %x10 = llvm.fmul %x9, %x : vector<8xf32>
  %x11 = llvm.fmul %x10, %x : vector<8xf32>
  %x12 = llvm.fmul %x11, %x : vector<8xf32>
  %x13 = llvm.fmul %x12, %x : vector<8xf32>
  %x14 = llvm.fmul %x13, %x : vector<8xf32>
  %x15 = llvm.fmul %x14, %x : vector<8xf32>
  %x16 = llvm.fmul %x15, %x : vector<8xf32>
  %x17 = llvm.fmul %x16, %x : vector<8xf32>
  %x18 = llvm.fmul %x17, %x : vector<8xf32>
  %x19 = llvm.fmul %x18, %x : vector<8xf32>
  %x20 = llvm.fmul %x19, %x : vector<8xf32>
  %x21 = llvm.fmul %x20, %x : vector<8xf32>
  %x22 = llvm.fmul %x21, %x : vector<8xf32>
  %x23 = llvm.fmul %x22, %x : vector<8xf32>
  %x24 = llvm.fmul %x23, %x : vector<8xf32>
  %x25 = llvm.fmul %x24, %x : vector<8xf32>
  %x26 = llvm.fmul %x25, %x : vector<8xf32>
  %x27 = llvm.fmul %x26, %x : vector<8xf32>
  %x28 = llvm.fmul %x27, %x : vector<8xf32>
  %x29 = llvm.fmul %x28, %x : vector<8xf32>
  %x30 = llvm.fmul %x29, %x : vector<8xf32>
  llvm.store %x30, %from : vector<8xf32>, !llvm.ptr
  %next = llvm.add %i, %one : i64
  llvm.br ^bb1(%next : i64)
^bb3:
  llvm.return
}

llvm.func @far(%p: !llvm.ptr) attributes {sym_visibility = "private"} {
  %name = llvm.mlir.addressof @a : !llvm.ptr
  %bound = llvm.mlir.constant(100 : i64) : i64
  %stride = llvm.mlir.constant(7 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %four = llvm.mlir.constant(4 : i64) : i64
  %locality = llvm.mlir.constant(3 : i32) : i32
  %rw = llvm.mlir.constant(0 : i32) : i32
  %data = llvm.mlir.constant(1 : i32) : i32
  llvm.call @llvm.prefetch.p0(%p, %rw, %locality, %data) : (!llvm.ptr, i32, i32, i32) -> ()
  llvm.br ^bb1(%zero : i64)
^bb1(%i: i64):
  %inside = llvm.icmp "slt" %i, %bound : i64
  llvm.cond_br %inside, ^bb2, ^bb3
^bb2:
  %place = llvm.mul %i, %stride : i64
  %block = llvm.udiv %place, %four : i64
  %from = llvm.getelementptr %p[%block] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %from : !llvm.ptr -> vector<8xf32>
  %x1 = llvm.fadd %x, %x : vector<8xf32>
  %x2 = llvm.fmul %x1, %x : vector<8xf32>
  %x3 = llvm.fmul %x2, %x : vector<8xf32>
  %x4 = llvm.fmul %x3, %x : vector<8xf32>
  %x5 = llvm.fmul %x4, %x : vector<8xf32>
  %x6 = llvm.fmul %x5, %x : vector<8xf32>
  %x7 = llvm.fmul %x6, %x : vector<8xf32>
  %x8 = llvm.fmul %x7, %x : vector<8xf32>
  %x9 = llvm.fmul %x8, %x : vector<8xf32>
  %x10 = llvm.fmul %x9, %x : vector<8xf32>
  %x11 = llvm.fmul %x10, %x : vector<8xf32>
  %x12 = llvm.fmul %x11, %x : vector<8xf32>
  %x13 = llvm.fmul %x12, %x : vector<8xf32>
  %x14 = llvm.fmul %x13, %x : vector<8xf32>
  %x15 = llvm.fmul %x14, %x : vector<8xf32>
  %x16 = llvm.fmul %x15, %x : vector<8xf32>
  %x17 = llvm.fmul %x16, %x : vector<8xf32>
  %x18 = llvm.fmul %x17, %x : vector<8xf32>
  %x19 = llvm.fmul %x18, %x : vector<8xf32>
  %x20 = llvm.fmul %x19, %x : vector<8xf32>
  %x21 = llvm.fmul %x20, %x : vector<8xf32>
  %x22 = llvm.fmul %x21, %x : vector<8xf32>
  %x23 = llvm.fmul %x22, %x : vector<8xf32>
  %x24 = llvm.fmul %x23, %x : vector<8xf32>
  %x25 = llvm.fmul %x24, %x : vector<8xf32>
  %x26 = llvm.fmul %x25, %x : vector<8xf32>
  %x27 = llvm.fmul %x26, %x : vector<8xf32>
  %x28 = llvm.fmul %x27, %x : vector<8xf32>
  %x29 = llvm.fmul %x28, %x : vector<8xf32>
  %x30 = llvm.fmul %x29, %x : vector<8xf32>
  llvm.store %x30, %from : vector<8xf32>, !llvm.ptr
  %next = llvm.add %i, %one : i64
  llvm.br ^bb1(%next : i64)
^bb3:
  llvm.return
}
