// RUN: %invalid

// GR16: exactly one result.
// expected-error@+1 {{'relax.func' op expected exactly one result, but got 0}}
relax.func private @gr16_no_result() -> ()

// -----

// expected-error@+1 {{'relax.func' op expected exactly one result, but got 2}}
relax.func private @gr16_two_results() -> (!relax.object, !relax.object)

// -----

// expected-error@+1 {{'relax.func' op expected argument 'x' to be a Relax value, but got 'tensor<4xf32>'}}
relax.func @gr16_argument_type(%x: tensor<4xf32>) -> !relax.object {
  %0 = relax.null_value
  relax.return %0 : !relax.object
}

// -----

// An argument without a name is counted.
// expected-error@+1 {{'relax.func' op expected argument 1 to be a Relax value, but got 'i32'}}
relax.func private @gr16_unnamed_argument_type(!relax.object, i32) -> !relax.object

// -----

// expected-error@+1 {{'relax.func' op expected the result to be a Relax value, but got 'tensor<4xf32>'}}
relax.func private @gr16_result_type() -> tensor<4xf32>

// -----

// expected-error@+1 {{'relax.func' op expected one name for each of 1 arguments, but got 2}}
"relax.func"() <{sym_name = "gr16_number_of_names", function_type = (!relax.object) -> !relax.object, arg_names = ["x", "y"]}> ({
^bb0(%x: !relax.object):
  "relax.return"(%x) : (!relax.object) -> ()
}) : () -> ()

// -----

// expected-error@+1 {{'relax.func' op expected distinct argument names, but got 'x' twice}}
"relax.func"() <{sym_name = "gr16_repeated_names", function_type = (!relax.object, !relax.object) -> !relax.object, arg_names = ["x", "x"]}> ({
^bb0(%x: !relax.object, %y: !relax.object):
  "relax.return"(%x) : (!relax.object) -> ()
}) : () -> ()

// -----

// expected-error@+1 {{'relax.func' op expected the name of argument 0 in 'arg_names', but got the attribute 'relax.name'}}
relax.func @gr16_name_as_attribute(%x: !relax.object {relax.name = "y"}) -> !relax.object {
  relax.return %x : !relax.object
}

// -----

// expected-error@+1 {{'relax.func' op expected attributes of arguments in 'arg_dicts', but got 'arg_attrs'}}
relax.func @gr16_attributes_of_arguments(%x: !relax.object) -> !relax.object attributes {arg_attrs = [{my.note}]} {
  relax.return %x : !relax.object
}

// -----

// expected-error@+1 {{'relax.func' op expected one block, but got 2}}
relax.func @gr16_two_blocks(%x: !relax.object) -> !relax.object {
  relax.return %x : !relax.object
^bb1:
  relax.return %x : !relax.object
}

// -----

// The signature and the entry block are two places for one thing.
// expected-error@+1 {{'relax.func' op type of entry block argument #0('!relax.shape<*>') must match the type of the corresponding argument in function signature('!relax.object')}}
"relax.func"() <{sym_name = "gr16_entry_block", function_type = (!relax.object) -> !relax.object}> ({
^bb0(%x: !relax.shape<*>):
  "relax.return"(%x) : (!relax.shape<*>) -> ()
}) : () -> ()

// -----

relax.func @gr16_no_return(%x: !relax.object) -> !relax.object {
  // expected-error@+1 {{block with no terminator, has %0 = "relax.null_value"() : () -> !relax.object}}
  %0 = relax.null_value
}

// -----

// SC02: nothing is captured from around a function.
%0 = relax.null_value
// expected-note@+1 {{required by region isolation constraints}}
relax.func @sc02_captured_value() -> !relax.object {
  // expected-error@+1 {{'relax.return' op using value defined outside the region}}
  relax.return %0 : !relax.object
}

// -----

// WF03: a value is used before it is bound.
relax.func @wf03_use_before_binding() -> !relax.object {
  // expected-error@+1 {{operand #0 does not dominate this use}}
  %0 = relax.tuple %1 : !relax.object
  // expected-note@+1 {{operand defined here (op in the same block)}}
  %1 = relax.null_value
  relax.return %0 : !relax.tuple<!relax.object>
}

// -----

// WF02: a name is bound once.
relax.func @wf02_bound_twice() -> !relax.object {
  // expected-note@+1 {{previously defined here}}
  %0 = relax.null_value
  // expected-error@+1 {{redefinition of SSA value '%0'}}
  %0 = relax.null_value
  relax.return %0 : !relax.object
}

// -----

// DR13: the value is not of the declared type, for sure.
// expected-note@+1 {{the type is declared here}}
relax.func @dr13_wrong_result(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], i32> {
  // expected-error@+1 {{'relax.return' op expected a result of type '!relax.tensor<[n], i32>', but got '!relax.tensor<[n], f32>'}}
  relax.return %x : !relax.tensor<[n], f32>
}

// -----

func.func @gr16_return_of_another_function(%x: !relax.object) {
  // expected-error@+1 {{'relax.return' op expects parent op to be one of 'relax.func, relax.closure'}}
  relax.return %x : !relax.object
}

// -----

// SC04: what a block does not output stays inside.
relax.func @sc04_not_an_output(%x: !relax.tensor<[n], f32>) -> !relax.object {
  relax.dataflow {
    %1 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.output
  }
  // expected-error@+1 {{use of undeclared SSA value name}}
  relax.return %1 : !relax.tensor<[n], f32>
}

// -----

relax.func @sc04_number_of_outputs(%x: !relax.object) -> !relax.object {
  // expected-error@+1 {{region branch point has 2 operands, but region successor needs 1 inputs}}
  %0 = relax.dataflow -> !relax.object {
    // expected-note@+1 {{region branch point}}
    relax.output %x, %x : !relax.object, !relax.object
  }
  relax.return %0 : !relax.object
}

// -----

relax.func @sc04_output_type(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-note@+1 {{the type is declared here}}
  %0 = relax.dataflow -> !relax.tensor<[n], f16> {
    // expected-error@+1 {{'relax.output' op expected an output of type '!relax.tensor<[n], f16>', but got '!relax.tensor<[n], f32>'}}
    relax.output %x : !relax.tensor<[n], f32>
  }
  relax.return %0 : !relax.tensor<[n], f16>
}

// -----

relax.func @sc04_no_output(%x: !relax.object) -> !relax.object {
  relax.dataflow {
    // expected-error@+1 {{block with no terminator, has %0 = "relax.null_value"() : () -> !relax.object}}
    %0 = relax.null_value
  }
  relax.return %x : !relax.object
}

// -----

// A terminator, but not the one that the block needs.
relax.func @sc04_another_terminator(%x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.dataflow' op expected its block to end with 'relax.output'}}
  relax.dataflow {
    llvm.unreachable
  }
  relax.return %x : !relax.object
}

// -----

relax.func @sc04_empty_block(%x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.dataflow' op expects a non-empty block}}
  relax.dataflow {
  }
  relax.return %x : !relax.object
}

// -----

relax.func @sc04_arguments(%x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.dataflow' op region should have no arguments}}
  "relax.dataflow"() ({
  ^bb0(%y: !relax.object):
    "relax.output"() : () -> ()
  }) : () -> ()
  relax.return %x : !relax.object
}

// -----

relax.func @wf01_output_outside(%x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.output' op expects parent op 'relax.dataflow'}}
  relax.output %x : !relax.object
}

// -----

// WF07: no control flow in a dataflow block.
relax.func @wf07_if(%c: !relax.tensor<[], i1>, %x: !relax.object) -> !relax.object {
  // expected-note@+1 {{the dataflow block begins here}}
  %0 = relax.dataflow -> !relax.object {
    // expected-error@+1 {{'relax.if' op is not allowed in a dataflow block [WF07]}}
    %1 = relax.if %c : !relax.tensor<[], i1> -> !relax.object {
      relax.yield %x : !relax.object
    } else {
      relax.yield %x : !relax.object
    }
    relax.output %1 : !relax.object
  }
  relax.return %0 : !relax.object
}

// -----

relax.func @wf07_nested_block(%x: !relax.object) -> !relax.object {
  // expected-note@+1 {{the dataflow block begins here}}
  relax.dataflow {
    // expected-error@+1 {{'relax.dataflow' op is not allowed in a dataflow block [WF07]}}
    relax.dataflow {
      relax.output
    }
    relax.output
  }
  relax.return %x : !relax.object
}

// -----

relax.func impure @wf07_call_packed(%x: !relax.object) -> !relax.object {
  // expected-note@+1 {{the dataflow block begins here}}
  %0 = relax.dataflow -> !relax.object {
    // expected-error@+1 {{'relax.call_packed' op is impure, which is not allowed in a dataflow block [WF07]}}
    %1 = relax.call_packed "my.print"(%x) : (!relax.object) -> !relax.object
    relax.output %1 : !relax.object
  }
  relax.return %0 : !relax.object
}

// -----

// DR15: a call is as pure as its callee.
relax.func private @impure() -> !relax.object attributes {is_pure = false}

relax.func impure @dr15_impure_callee() -> !relax.object {
  // expected-note@+1 {{the dataflow block begins here}}
  %0 = relax.dataflow -> !relax.object {
    // expected-error@+1 {{'relax.call' op is impure, which is not allowed in a dataflow block [WF07]}}
    %1 = relax.call @impure() : () -> !relax.object
    relax.output %1 : !relax.object
  }
  relax.return %0 : !relax.object
}

// -----

// DR15: packed functions are impure.
relax.func impure @dr15_packed_function_value(%f: !relax.func<derive = @default_derive>) -> !relax.object {
  // expected-note@+1 {{the dataflow block begins here}}
  %0 = relax.dataflow -> !relax.object {
    // expected-error@+1 {{'relax.call' op is impure, which is not allowed in a dataflow block [WF07]}}
    %1 = relax.call %f : !relax.func<derive = @default_derive> () : () -> !relax.object
    relax.output %1 : !relax.object
  }
  relax.return %0 : !relax.object
}

// -----

relax.func @gr15_condition_data_type(%c: !relax.tensor<[], f32>, %x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.if' op expected a condition of type !relax.tensor<[], i1> or !relax.prim<i1>, but got '!relax.tensor<[], f32>'}}
  %0 = relax.if %c : !relax.tensor<[], f32> -> !relax.object {
    relax.yield %x : !relax.object
  } else {
    relax.yield %x : !relax.object
  }
  relax.return %0 : !relax.object
}

// -----

relax.func @gr15_condition_rank(%c: !relax.tensor<[1], i1>, %x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.if' op expected a condition of type !relax.tensor<[], i1> or !relax.prim<i1>, but got '!relax.tensor<[1], i1>'}}
  %0 = relax.if %c : !relax.tensor<[1], i1> -> !relax.object {
    relax.yield %x : !relax.object
  } else {
    relax.yield %x : !relax.object
  }
  relax.return %0 : !relax.object
}

// -----

relax.func @gr15_condition_primitive(%c: !relax.prim<i64>, %x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.if' op expected a condition of type !relax.tensor<[], i1> or !relax.prim<i1>, but got '!relax.prim<i64>'}}
  %0 = relax.if %c : !relax.prim<i64> -> !relax.object {
    relax.yield %x : !relax.object
  } else {
    relax.yield %x : !relax.object
  }
  relax.return %0 : !relax.object
}

// -----

relax.func @gr15_condition_kind(%c: !relax.shape<*>, %x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.if' op expected a condition of type !relax.tensor<[], i1> or !relax.prim<i1>, but got '!relax.shape<*>'}}
  %0 = relax.if %c : !relax.shape<*> -> !relax.object {
    relax.yield %x : !relax.object
  } else {
    relax.yield %x : !relax.object
  }
  relax.return %0 : !relax.object
}

// -----

relax.func @gr15_no_else(%c: !relax.tensor<[], i1>, %x: !relax.object) -> !relax.object {
  %0 = relax.if %c : !relax.tensor<[], i1> -> !relax.object {
    relax.yield %x : !relax.object
  }
  // expected-error@+1 {{custom op 'relax.if' expected 'else'}}
  relax.return %0 : !relax.object
}

// -----

relax.func @gr15_no_yield(%c: !relax.tensor<[], i1>, %x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.if' op expects a non-empty block}}
  %0 = relax.if %c : !relax.tensor<[], i1> -> !relax.object {
    relax.yield %x : !relax.object
  } else {
  }
  relax.return %0 : !relax.object
}

// -----

// DR06: the declared type is no upper bound of both branches.
relax.func @dr06_branch_type(%c: !relax.tensor<[], i1>, %x: !relax.tensor<[n], f32>, %y: !relax.tensor<[m], f32>) -> !relax.object {
  // expected-note@+1 {{the type is declared here}}
  %0 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[n], f32> {
    relax.yield %x : !relax.tensor<[n], f32>
  } else {
    // expected-error@+2 {{'relax.yield' op expected a branch of type '!relax.tensor<[n], f32>', but got '!relax.tensor<[m], f32>'}}
    // expected-note@+1 {{insert relax.match_cast to check it at run time}}
    relax.yield %y : !relax.tensor<[m], f32>
  }
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// SC03: values of a branch stay inside.
relax.func @sc03_value_of_a_branch(%c: !relax.tensor<[], i1>, %x: !relax.object) -> !relax.object {
  %0 = relax.if %c : !relax.tensor<[], i1> -> !relax.object {
    %1 = relax.null_value
    relax.yield %1 : !relax.object
  } else {
    relax.yield %x : !relax.object
  }
  // expected-error@+1 {{use of undeclared SSA value name}}
  relax.return %1 : !relax.object
}

// -----

relax.func @gr15_yield_outside(%x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.yield' op expects parent op to be one of 'relax.if, relax.seq'}}
  relax.yield %x : !relax.object
}

// -----

relax.func @mc01_to_no_relax_type(%x: !relax.object) -> !relax.object {
  // expected-error@+1 {{custom op 'relax.match_cast' invalid kind of type specified}}
  %0 = relax.match_cast %x : !relax.object -> i32
  relax.return %x : !relax.object
}

// -----

relax.func @gr09_data_type() -> !relax.object {
  // expected-error@+1 {{expected a constant of a data type, but got 'index'}}
  %0 = relax.constant dense<1> : tensor<2xindex>
  relax.return %0 : !relax.tensor<*>
}

// -----

relax.func @gr09_complex() -> !relax.object {
  // expected-error@+1 {{expected a constant of a data type, but got 'complex<f32>'}}
  %0 = relax.constant dense<(1.0, 2.0)> : tensor<2xcomplex<f32>>
  relax.return %0 : !relax.tensor<*>
}

// -----

relax.func @gr09_no_elements() -> !relax.object {
  // expected-error@+1 {{custom op 'relax.constant' invalid kind of attribute specified}}
  %0 = relax.constant 3 : i64
  relax.return %0 : !relax.object
}

// -----

// DR02: the declared type may be weaker than what the elements say, not stronger.
relax.func @dr02_stronger_type() -> !relax.object {
  // expected-error@+2 {{'relax.constant' op inferred type(s) '!relax.tensor<[2], f32>' are incompatible with return type(s) of operation '!relax.tensor<[3], f32>'}}
  // expected-error@+1 {{'relax.constant' op failed to infer returned types}}
  %0 = "relax.constant"() <{value = dense<1.0> : tensor<2xf32>}> : () -> !relax.tensor<[3], f32>
  relax.return %0 : !relax.tensor<[3], f32>
}

// -----

// WF18
relax.func @wf18_string() -> !relax.object {
  // expected-error@+1 {{attribute 'value' failed to satisfy constraint: a number or expression}}
  %0 = relax.prim_value "three"
  relax.return %0 : !relax.object
}

// -----

relax.func @wf18_type() -> !relax.object {
  // expected-error@+1 {{attribute 'value' failed to satisfy constraint: a number or expression}}
  %0 = relax.prim_value i64
  relax.return %0 : !relax.object
}

// -----

relax.func @gr11_width() -> !relax.object {
  // expected-error@+1 {{expected a number of a data type or an expression, but got 3 : i128}}
  %0 = relax.prim_value 3 : i128
  relax.return %0 : !relax.object
}

// -----

relax.func @gr11_index() -> !relax.object {
  // expected-error@+1 {{expected a number of a data type or an expression, but got 3 : index}}
  %0 = relax.prim_value 3 : index
  relax.return %0 : !relax.object
}

// -----

relax.func @gr11_dtype() -> !relax.object {
  // expected-error@+1 {{'relax.dtype' op expected a data type, but got 'tensor<4xf32>'}}
  %0 = relax.dtype tensor<4xf32>
  relax.return %0 : !relax.object
}

// -----

relax.func @gr11_string() -> !relax.object {
  // expected-error@+1 {{integer literal not valid for specified type}}
  %0 = relax.string 3
  relax.return %0 : !relax.object
}

// -----

// GR10
relax.func @dr04_not_a_tuple(%x: !relax.object) -> !relax.object {
  // expected-error@+1 {{expected a tuple, but got '!relax.object'}}
  %0 = relax.get_item %x[0] : !relax.object
  relax.return %0 : !relax.object
}

// -----

relax.func @dr04_index(%x: !relax.tuple<!relax.object>) -> !relax.object {
  // expected-error@+1 {{expected an index below 1, the number of fields, but got 1}}
  %0 = relax.get_item %x[1] : !relax.tuple<!relax.object>
  relax.return %0 : !relax.object
}

// -----

relax.func @dr04_negative_index(%x: !relax.tuple<!relax.object>) -> !relax.object {
  // expected-error@+1 {{expected an index below 1, the number of fields, but got -1}}
  %0 = relax.get_item %x[-1] : !relax.tuple<!relax.object>
  relax.return %0 : !relax.object
}

// -----

relax.func @dr04_stronger_type(%x: !relax.object) -> !relax.object {
  // expected-error@+2 {{'relax.tuple' op inferred type(s) '!relax.tuple<!relax.object>' are incompatible with return type(s) of operation '!relax.tuple<!relax.shape<*>>'}}
  // expected-error@+1 {{'relax.tuple' op failed to infer returned types}}
  %0 = "relax.tuple"(%x) : (!relax.object) -> !relax.tuple<!relax.shape<*>>
  relax.return %0 : !relax.tuple<!relax.shape<*>>
}

// -----

relax.func @op07_shape_of_a_shape(%x: !relax.shape<[n]>) -> !relax.object {
  // expected-error@+1 {{'relax.shape_of' op operand #0 must be a Relax tensor, but got '!relax.shape<[n]>'}}
  %0 = relax.shape_of %x : !relax.shape<[n]>
  relax.return %0 : !relax.shape<*>
}

// -----

relax.func @dr05_stronger_type(%x: !relax.shape<[n]>) -> !relax.object {
  // expected-error@+2 {{'relax.shape' op inferred type(s) '!relax.shape<[n]>' are incompatible with return type(s) of operation '!relax.shape<[n + 1]>'}}
  // expected-error@+1 {{'relax.shape' op failed to infer returned types}}
  %0 = "relax.shape"() <{values = #relax.shape<[n]>}> : () -> !relax.shape<[n + 1]>
  relax.return %0 : !relax.shape<[n + 1]>
}

// -----

relax.func @gr17_unknown_operation(%x: !relax.object) -> !relax.object {
  // expected-error@+1 {{custom op 'relax.frobnicate' is unknown}}
  %0 = relax.frobnicate %x : !relax.object
  relax.return %0 : !relax.object
}
// -----

relax.func @gr15_another_terminator(%c: !relax.tensor<[], i1>, %x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.if' op expected its block to end with 'relax.yield'}}
  %0 = relax.if %c : !relax.tensor<[], i1> -> !relax.object {
    relax.yield %x : !relax.object
  } else {
    llvm.unreachable
  }
  relax.return %0 : !relax.object
}

// -----

// WF08: a declaration has no body that a result could be derived from.
// expected-error@+1 {{'relax.func' op is a declaration, so it has to state its result}}
relax.func private @wf08_declaration(!relax.object)

// -----

// expected-error@+1 {{'relax.func' op expected the result to be !relax.object until it is derived}}
"relax.func"() <{sym_name = "wf08_result", function_type = (!relax.object) -> !relax.shape<*>, derive_result}> ({
^bb0(%x: !relax.object):
  %0 = "relax.shape"() <{values = #relax.shape<[]>}> : () -> !relax.shape<*>
  "relax.return"(%0) : (!relax.shape<*>) -> ()
}) : () -> ()

// -----

// expected-error@+1 {{expected a body with one block}}
relax.func @gr16_empty_body() -> !relax.object {
}

// -----

// expected-error@+1 {{expected attribute 'is_pure' once}}
relax.func impure @gr16_purity_twice(%x: !relax.object) -> !relax.object attributes {is_pure = true} {
  relax.return %x : !relax.object
}

// -----

// expected-error@+1 {{expected the name of an argument}}
relax.func @gr16_argument_without_name(%x: !relax.object, !relax.object) -> !relax.object {
  relax.return %x : !relax.object
}

// -----

// expected-error@+1 {{expected a type without a name, as in front of it}}
relax.func private @gr16_argument_with_name(!relax.object, %x: !relax.object) -> !relax.object

// -----

// WF09: an operator is no value.
relax.func @wf09_operator_as_value() -> !relax.object {
  // expected-error@+1 {{'relax.global_var' op expected @relax.add to be a relax.func or func.func of the module, not an operator, which only a call names [WF09]}}
  %0 = relax.global_var @relax.add : !relax.func<(!relax.object, !relax.object) -> !relax.object, pure>
  relax.return %0 : !relax.func<(!relax.object, !relax.object) -> !relax.object, pure>
}

// -----

// WF09: nor an argument.
relax.func @wf09_operator_as_argument() -> !relax.object {
  // expected-error@+1 {{expected '('}}
  %0 = relax.tuple relax.add : !relax.object
  relax.return %0 : !relax.tuple<!relax.object>
}

// -----

// WF13: the name outside of the module is the name inside.
// expected-error@+1 {{'relax.func' op expected 'global_symbol' to be its name, "wf13_other_name", but got "f" [WF13]}}
relax.func @wf13_other_name(%x: !relax.object) -> !relax.object attributes {global_symbol = "f"} {
  relax.return %x : !relax.object
}

// -----

// DR15: the calls of a closure are not those of the function around it.
// expected-note@+1 {{the function is pure: declare it 'impure', or promise with relax.force_pure that nobody sees the effects}}
relax.func @dr15_impure_call(%f: !relax.func<derive = @default_derive>) -> !relax.object {
  %g = relax.closure impure () -> !relax.object {
    %0 = relax.call_packed "f"() : () -> !relax.object
    relax.return %0 : !relax.object
  }
  // expected-error@+1 {{'relax.call' op is impure, which is not allowed in a pure function [DR15]}}
  %1 = relax.call %f : !relax.func<derive = @default_derive> () : () -> !relax.object
  relax.return %1 : !relax.object
}

// -----

// WF21: only a pure function can be forced to be.
// expected-error@+1 {{'relax.func' op has 'relax.force_pure', so it has to be pure [WF21]}}
relax.func impure @wf21_impure(%x: !relax.object) -> !relax.object attributes {relax.force_pure = true} {
  relax.return %x : !relax.object
}

// -----

// NF05: an ordinary binding in a dataflow block, by a sequence; one in a closure is not in the block.
relax.func @nf05_ordinary_binding(%x: !relax.object) -> !relax.object {
  relax.dataflow {
    %f = relax.closure (%y: !relax.object) -> !relax.object {
      %0 = relax.seq -> !relax.object {
        %1 = relax.null_value
        relax.yield %1 : !relax.object
      }
      relax.return %0 : !relax.object
    }
    %2 = relax.seq -> !relax.object {
      %3 = relax.seq -> !relax.object {
        // expected-error@+1 {{'relax.null_value' op is an ordinary binding inside of a 'relax.seq' in a dataflow block [NF05]}}
        %4 = relax.null_value
        relax.yield %4 : !relax.object
      }
      relax.yield %3 : !relax.object
    }
    relax.output
  }
  relax.return %x : !relax.object
}

// -----

// DR04: a declared type is not stronger than the derived one.
relax.func @dr04_stronger_field(%t: !relax.tuple<!relax.object>) -> !relax.object {
  // expected-error@+2 {{failed to infer returned types}}
  // expected-error@+1 {{'relax.get_item' op inferred type(s) '!relax.object' are incompatible with return type(s) of operation '!relax.shape<*>'}}
  %0 = relax.get_item %t[0] : !relax.tuple<!relax.object> -> !relax.shape<*>
  relax.return %0 : !relax.shape<*>
}

// -----

// expected-error@+1 {{'relax.func' op expected a name, but got an empty one}}
"relax.func"() <{function_type = () -> !relax.object, sym_name = ""}> ({}) : () -> ()

// -----

relax.func private @f() -> !relax.object
// expected-error@+1 {{'relax.global_var' op expected to be in a relax.func: nothing lowers what names a function elsewhere}}
%0 = relax.global_var @f : !relax.func<() -> !relax.object, pure>

// -----

relax.func private @f() -> !relax.object
// expected-error@+1 {{'relax.call' op expected to be in a relax.func: nothing lowers what names a function elsewhere}}
%0 = relax.call @f() : () -> !relax.object

// -----

relax.func private @f() -> !relax.object
// expected-error@+1 {{'relax.builtin.make_closure' op expected to be in a relax.func: nothing lowers what names a function elsewhere}}
%0 = relax.builtin.make_closure @f() of !relax.func<() -> !relax.object, pure> where []() : () -> !relax.func<() -> !relax.object, pure>

// -----

// What a branch defines may be used ahead of it, in a text that is wrong.
relax.func @no_else(%c: !relax.tensor<[], i1>) -> !relax.object {
  relax.yield %1 : !relax.object
  %2 = relax.if %c : !relax.tensor<[], i1> -> !relax.object {
    %1 = relax.match_cast %c : !relax.tensor<[], i1> -> !relax.object
    relax.yield %1 : !relax.object
  }
  // expected-error @+1 {{expected 'else'}}
  relax.return %2 : !relax.object
}
