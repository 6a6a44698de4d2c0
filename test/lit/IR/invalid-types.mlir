// RUN: %invalid

// expected-error@+1 {{expected '[' of dimensions}}
relax.func private @gr04_no_dimensions(!relax.tensor<f32>) -> !relax.object

// -----

// expected-error@+1 {{expected '[' of dimensions}}
relax.func private @gr04_no_brackets(!relax.tensor<4xf32>) -> !relax.object

// -----

// expected-error@+1 {{expected a data type or '@' device}}
relax.func private @gr04_not_a_data_type(!relax.tensor<[4], 3>) -> !relax.object

// -----

// expected-error@+1 {{expected a data type or '@' device}}
relax.func private @gr04_two_data_types(!relax.tensor<[4], f32, f32>) -> !relax.object

// -----

// The device comes last.
// expected-error@+1 {{expected '>'}}
relax.func private @gr04_after_the_device(!relax.tensor<[4], @cuda0, f32>) -> !relax.object

// -----

// expected-error@+1 {{expected dimensions of 0 or more}}
relax.func private @gr04_negative_dimension(!relax.tensor<[-1], f32>) -> !relax.object

// -----

// -1 means that the rank is unknown; it is written `*`.
// expected-error@+1 {{expected ndim to be -1 or more, but got -2 [WF10]}}
relax.func private @wf10_negative_rank(!relax.tensor<ndim = -2, f32>) -> !relax.object

// -----

// expected-error@+1 {{expected ndim to be -1 or more, but got -2 [WF10]}}
relax.func private @wf10_rank_of_shape(!relax.shape<ndim = -2>) -> !relax.object

// -----

// expected-error@+1 {{expected '='}}
relax.func private @gr05_ndim(!relax.shape<ndim 2>) -> !relax.object

// -----

// expected-error@+1 {{expected '>'}}
relax.func private @gr05_data_type(!relax.shape<[4], f32>) -> !relax.object

// -----

// GR18: no such width.
// expected-error@+1 {{expected a data type (i1, i4 to i64, ui4 to ui64, f16, bf16, f32, f64 or an 8-bit float), but got 'i7' [WF20]}}
relax.func private @wf20_width(!relax.tensor<[4], i7>) -> !relax.object

// -----

// GR18: signed integers are written without a sign.
// expected-error@+1 {{expected a data type (i1, i4 to i64, ui4 to ui64, f16, bf16, f32, f64 or an 8-bit float), but got 'si32' [WF20]}}
relax.func private @wf20_signed(!relax.tensor<[4], si32>) -> !relax.object

// -----

// expected-error@+1 {{expected a data type (i1, i4 to i64, ui4 to ui64, f16, bf16, f32, f64 or an 8-bit float), but got 'index' [WF20]}}
relax.func private @wf20_index(!relax.tensor<[4], index>) -> !relax.object

// -----

// WF20: one lane only.
// expected-error@+1 {{expected a data type (i1, i4 to i64, ui4 to ui64, f16, bf16, f32, f64 or an 8-bit float), but got 'vector<4xf32>' [WF20]}}
relax.func private @wf20_lanes(!relax.tensor<[4], vector<4xf32>>) -> !relax.object

// -----

// expected-error@+1 {{expected a data type (i1, i8 to i64, ui8 to ui64, f16, bf16, f32, f64 or an 8-bit float), but got '!relax.tensor<*>' [WF19]}}
relax.func private @wf19_prim_of_tensor(!relax.prim<!relax.tensor<*>>) -> !relax.object

// -----

// expected-error@+1 {{expected a data type (i1, i8 to i64, ui8 to ui64, f16, bf16, f32, f64 or an 8-bit float), but got 'none' [WF19]}}
relax.func private @wf19_prim_of_none(!relax.prim<none>) -> !relax.object

// -----

// expected-error@+1 {{expected an integer data type for the value 3, but got 'f32' [WF22]}}
relax.func private @wf22_value_of_a_float(!relax.prim<f32, 3>) -> !relax.object

// -----

// expected-error@+1 {{expected non-function type}}
relax.func private @gr06_no_data_type(!relax.prim<3>) -> !relax.object

// -----

// expected-error@+1 {{expected each field to be StructInfo, but got 'tensor<4xf32>'}}
relax.func private @gr07_field(!relax.tuple<!relax.object, tensor<4xf32>>) -> !relax.object

// -----

// expected-error@+1 {{expected each parameter to be StructInfo, but got 'i32'}}
relax.func private @gr08_parameter(!relax.func<(i32) -> !relax.object, pure>) -> !relax.object

// -----

// expected-error@+1 {{expected the result to be StructInfo, but got 'i32'}}
relax.func private @gr08_result(!relax.func<() -> i32, pure>) -> !relax.object

// -----

// expected-error@+1 {{expected 'pure' or 'impure', but got 'maybe'}}
relax.func private @gr08_purity(!relax.func<() -> !relax.object, maybe>) -> !relax.object

// -----

// Without a result nothing is known: that is `!relax.object`.
// expected-error@+1 {{expected '->'}}
relax.func private @gr08_no_result(!relax.func<()>) -> !relax.object

// -----

// expected-error@+1 {{expected valid '@'-identifier for symbol name}}
relax.func private @gr08_derive(!relax.func<derive = "f">) -> !relax.object

// -----

// WF17: either parameters or a function that derives the result.
// expected-error@+1 {{expected either parameters and a result, or a derive function [WF17]}}
relax.func private @wf17_both(!relax.func<derive = @f, () -> !relax.object>) -> !relax.object

// -----

// expected-error@+1 {{expected either parameters and a result, or a derive function [WF17]}}
relax.func private @wf17_both_parameters_first(!relax.func<() -> !relax.object, derive = @f>) -> !relax.object

// -----

// expected-error@+1 {{expected either parameters and a result, or a derive function [WF17]}}
relax.func private @wf17_neither(!relax.func<>) -> !relax.object

// -----

// GR04, GR05: the name of a shape variable, and a rank where there is none in the dimensions.
// expected-error@+1 {{expected valid keyword}}
relax.func private @gr05_variable_without_name(!relax.shape<var = >) -> !relax.object

// -----

// expected-error@+1 {{expected a data type or '@' device}}
relax.func private @wf14_dimensions_and_variable(!relax.tensor<[n], var = s>) -> !relax.object

// -----

// expected-error@+1 {{expected 'ndim'}}
relax.func private @wf15_dimensions_and_variable(!relax.shape<var = s, [n]>) -> !relax.object

// -----

// expected-error@+1 {{expected ndim to be -1 or more, but got -2 [WF10]}}
relax.func private @wf10_rank_of_a_variable(!relax.shape<var = s, ndim = -2>) -> !relax.object

// -----

// expected-error@+1 {{unknown  type `tensors` in dialect `relax`}}
relax.func private @gr04_unknown_type(!relax.tensors<*>) -> !relax.object

// -----

// GR04: the brackets of a tuple are there even where it is empty.
// expected-error@+1 {{expected '<'}}
relax.func private @gr04_tuple_without_brackets(!relax.tuple) -> !relax.object

// -----

// expected-error@+1 {{expected '>'}}
relax.func private @gr04_tuple_without_end(!relax.tuple<!relax.object !relax.object>) -> !relax.object
