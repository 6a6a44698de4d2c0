// RUN: %roundtrip

// Each type of structural information, with what may be left out of it.

// CHECK-LABEL: relax.func private @gr07_object
relax.func private @gr07_object(!relax.object) -> !relax.object

// GR04: shape, rank, data type and device, each known or not.
// CHECK: relax.func private @gr04_tensor(!relax.tensor<[n, n * 4, 16], f32>, !relax.tensor<ndim = 2, f32>, !relax.tensor<ndim = 2>, !relax.tensor<*, f32>, !relax.tensor<*>, !relax.tensor<[n]>) -> !relax.tensor<[], i1>
relax.func private @gr04_tensor(
  !relax.tensor<[n, n * 4, 16], f32>, !relax.tensor<ndim = 2, f32>, !relax.tensor<ndim = 2>,
  !relax.tensor<*, f32>, !relax.tensor<*>, !relax.tensor<[n]>) -> !relax.tensor<[], i1>

// The rank of a scalar is known, to be 0.
// CHECK: relax.func private @gr04_scalar(!relax.tensor<[], f32>, !relax.tensor<ndim = 0, f32>)
relax.func private @gr04_scalar(!relax.tensor<[], f32>, !relax.tensor<ndim = 0, f32>) -> !relax.object

// CHECK: relax.func private @gr04_vdevice(!relax.tensor<[n, 16], f32, @cuda0>, !relax.tensor<ndim = 1, @cpu>, !relax.tensor<*, @cpu>)
relax.func private @gr04_vdevice(
  !relax.tensor<[n, 16], f32, @cuda0>, !relax.tensor<ndim = 1, @cpu>, !relax.tensor<*, @cpu>) -> !relax.object

// GR18: every data type; without one the tensor has the data type Void.
// CHECK: relax.func private @gr18_integers(!relax.tensor<*, i1>, !relax.tensor<*, i8>, !relax.tensor<*, i16>, !relax.tensor<*, i32>, !relax.tensor<*, i64>, !relax.tensor<*, ui8>, !relax.tensor<*, ui16>, !relax.tensor<*, ui32>, !relax.tensor<*, ui64>)
relax.func private @gr18_integers(
  !relax.tensor<*, i1>, !relax.tensor<*, i8>, !relax.tensor<*, i16>, !relax.tensor<*, i32>,
  !relax.tensor<*, i64>, !relax.tensor<*, ui8>, !relax.tensor<*, ui16>, !relax.tensor<*, ui32>,
  !relax.tensor<*, ui64>) -> !relax.object

// Two of them share a byte.
// CHECK: relax.func private @gr18_int4(!relax.tensor<[n, 3], i4>, !relax.tensor<*, ui4>)
relax.func private @gr18_int4(!relax.tensor<[n, 3], i4>, !relax.tensor<*, ui4>) -> !relax.object

// CHECK: relax.func private @gr18_floats(!relax.tensor<*, f16>, !relax.tensor<*, bf16>, !relax.tensor<*, f32>, !relax.tensor<*, f64>, !relax.tensor<*, f8E4M3FN>, !relax.tensor<*, f8E5M2>)
relax.func private @gr18_floats(
  !relax.tensor<*, f16>, !relax.tensor<*, bf16>, !relax.tensor<*, f32>, !relax.tensor<*, f64>,
  !relax.tensor<*, f8E4M3FN>, !relax.tensor<*, f8E5M2>) -> !relax.object

// CHECK: relax.func private @gr05_shape(!relax.shape<[n, n * 4]>, !relax.shape<[]>, !relax.shape<ndim = 2>, !relax.shape<*>)
relax.func private @gr05_shape(
  !relax.shape<[n, n * 4]>, !relax.shape<[]>, !relax.shape<ndim = 2>, !relax.shape<*>) -> !relax.object

// The value of an integer primitive may be known.
// CHECK: relax.func private @gr06_prim(!relax.prim<i64>, !relax.prim<i64, n>, !relax.prim<i64, n + 1>, !relax.prim<i32, 3>, !relax.prim<f32>, !relax.prim<i1, 1>)
relax.func private @gr06_prim(
  !relax.prim<i64>, !relax.prim<i64, n>, !relax.prim<i64, n + 1>, !relax.prim<i32, 3>,
  !relax.prim<f32>, !relax.prim<i1, 1>) -> !relax.object

// CHECK: relax.func private @gr07_tuple(!relax.tuple<>, !relax.tuple<!relax.object, !relax.shape<[n]>>, !relax.tuple<!relax.tuple<!relax.tuple<>>>)
relax.func private @gr07_tuple(
  !relax.tuple<>, !relax.tuple<!relax.object, !relax.shape<[n]>>,
  !relax.tuple<!relax.tuple<!relax.tuple<>>>) -> !relax.object

// A closure is pure unless it says otherwise; its shape variables are its own.
// CHECK: relax.func private @gr08_closure(!relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, pure>, !relax.func<() -> !relax.object, pure>, !relax.func<() -> !relax.object, impure>)
relax.func private @gr08_closure(
  !relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, pure>,
  !relax.func<() -> !relax.object>, !relax.func<() -> !relax.object, impure>) -> !relax.object

// A packed function has a function that derives its result (WF17: and nothing else).
// CHECK: relax.func private @gr08_packed(!relax.func<derive = @default_derive>, !relax.func<derive = @empty_derive>, !relax.func<derive = @my.derive>)
relax.func private @gr08_packed(
  !relax.func<derive = @default_derive>, !relax.func<derive = @empty_derive>,
  !relax.func<derive = @my.derive>) -> !relax.object

// GR04, GR05: a variable stands for a shape as a whole; a shape binds it, a tensor uses it.
// CHECK: relax.func private @gr04_shape_variable(!relax.shape<var = s, ndim = 2>, !relax.tensor<var = s, ndim = 2, f32>, !relax.shape<var = t>, !relax.tensor<var = t>) -> !relax.tensor<var = s, ndim = 2>
relax.func private @gr04_shape_variable(
  !relax.shape<var = s, ndim = 2>, !relax.tensor<var = s, ndim = 2, f32>, !relax.shape<var = t>,
  !relax.tensor<var = t>) -> !relax.tensor<var = s, ndim = 2>

// WF06: the order of the arguments does not matter, and a function type may use what they bind.
// CHECK: relax.func private @gr08_free_variables
relax.func private @gr08_free_variables(
  !relax.func<(!relax.tensor<[m], f32>) -> !relax.tensor<[n, m], f32>>, !relax.tensor<[n], f32>,
  !relax.func<(!relax.shape<var = t>) -> !relax.tuple<!relax.tensor<var = t>, !relax.tensor<var = s>>>,
  !relax.shape<var = s>) -> !relax.object
