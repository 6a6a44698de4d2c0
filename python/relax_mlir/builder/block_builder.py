# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writing a module function by function, as with TVM's BlockBuilder."""

from __future__ import annotations

import contextlib
import inspect
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from mlir import ir

from .. import op as _op
from .._arguments import shown
from .._mlir_libs import _relax_mlir as _ext
from ..core.context import current_context, current_location
from ..core.diagnostics import parse_module, raise_errors
from ..core.erasing import detach_unchecked
from ..core.expr import GlobalVar, Leaf, Var, _bind_parameter, as_value, build
from ..core.ir import ObjectStructInfo, ShapeStructInfo
from ..core.ir_module import IRModule, ModuleWriter, as_module, operation_of
from ..core.lifetimes import discard, remember
from ..core.struct_info import erase_to_well_defined, unify_struct_info
from ..core.vdevice import VDevice, set_global_info
from ..core.visibility import require_visible
from ..dialects import relax as _ops
from ..te.call import call_kernel
from .function_bodies import ClosureBody, DataflowBody, FunctionBody, Names
from .places import (
    bound_before,
    declared_value,
    is_private,
    isolated,
    main_function,
    name_of,
    replace_draft,
    set_name,
    shape_var_name,
    state_te_gradient,
    structure_of,
    symbol_name,
    visible_here,
)


class BlockBuilder(ModuleWriter):
    """Writes a module.

    Operators (`relax_mlir.op`) insert operations at the current place, which `function`,
    `dataflow` and `if_` set; `emit` gives a value a name.

    Parameters
    ----------
    mod : IRModule, mlir.ir.Module or str, optional
        A module to add functions to; it is copied. By default it is empty.
    context : mlir.ir.Context, optional
        By default that of the module, the current one, or else `default_context`.
    global_info : mapping of str to VDevice, optional
        The virtual devices of the module by name.

    Examples
    --------
    >>> from relax_mlir import TensorStructInfo, Var, op
    >>> bb = BlockBuilder()
    >>> x = Var("x", TensorStructInfo(("n", 4), "float32"))
    >>> with bb.function("main", [x]):
    ...     with bb.dataflow():
    ...         y = bb.emit(op.exp(x))
    ...         out = bb.emit_output(op.reshape(y, (-1,)))
    ...     main = bb.emit_func_output(out)
    >>> main
    GlobalVar(name='main')
    >>> print(bb.get()["main"].function_type.value)
    (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n * 4], f32>
    """

    _stack: ClassVar[list[BlockBuilder]] = []

    def __init__(
        self,
        mod: Any = None,
        *,
        context: ir.Context | None = None,
        global_info: Mapping[str, VDevice] | None = None,
    ) -> None:
        if isinstance(mod, ir.Context):
            mod, context = None, mod
        self._context = current_context() if context is None else context
        _ext.load_dialect(self._context)
        if mod is None:
            self._module = remember(ir.Module.create(ir.Location.unknown(self._context)))
        else:
            with self._context:
                self._module = as_module(mod).clone().module
            self._context = self._module.context
        if global_info:
            set_global_info(self._module, global_info)
        self._function: FunctionBody | ClosureBody | None = None
        self._dataflow: DataflowBody | None = None
        self._kernels: dict[str, str] | None = None
        self._names = Names()
        # Whether names are those of a program, which may use one twice or give none.
        self._keeps_names = False
        self._scopes: list[contextlib.ExitStack] = []

    def __repr__(self) -> str:
        return f"<BlockBuilder: {reprlib.repr(list(IRModule(self._module).functions))}>"

    @staticmethod
    def current() -> BlockBuilder | None:
        """Return the builder whose function, or testing scope, is being written, or None.

        Examples
        --------
        >>> bb = BlockBuilder()
        >>> with bb.testing_scope(["n"]):
        ...     BlockBuilder.current() is bb
        True
        >>> BlockBuilder.current() is None
        True
        """
        return BlockBuilder._stack[-1] if BlockBuilder._stack else None

    # -- functions ----------------------------------------------------------------------------

    @contextlib.contextmanager
    def function(
        self,
        name: str,
        params: Sequence[Var] | Var | None = None,
        attrs: Mapping[str, Any] | None = None,
        *,
        pure: bool = True,
        private: bool = False,
        ret_struct_info: ir.Type | None = None,
    ) -> Iterator[None]:
        """Write a function in the body of the ``with`` statement.

        Parameters
        ----------
        name : str
        params : sequence of Var, optional
            They stand for the arguments inside. Without them `emit_func_output` may state them.
        attrs : mapping of str to bool, int, float, str or mlir.ir.Attribute, optional
        pure : bool
            Whether the function has no visible side effects.
        private : bool
            Whether it can be called from the module only.
        ret_struct_info : StructInfo, optional
            The result type. By default it follows from the value that is returned; a recursive
            function has to state it.

        Raises
        ------
        ValueError
            If another function is being written, the name is taken, a parameter is one of a
            function that is being written, or the body ends without `emit_func_output`. What was
            written of the function is discarded.
        """
        self._require(
            self._function is None, "function", "outside of another one; see BlockBuilder.closure"
        )
        self._require_new_name(name)
        given = [params] if isinstance(params, Var) else params
        self._require_free(name, given or ())
        with self._context:
            function = FunctionBody(self._module, name, given, pure, private, ret_struct_info)
            self._names = Names(param.name for param in given or ())
            with self._write(function, attrs):
                yield

    def _unused_name(self, name: str) -> str:
        """Return a name that no function of the module has."""
        return Names(filter(None, map(symbol_name, self._module.body.operations))).unique(name)

    @contextlib.contextmanager
    def private_function(
        self, name: str, params: Sequence[Var], ret_struct_info: ir.Type
    ) -> Iterator[GlobalVar]:
        """Write a function of the module beside the one that is being written.

        It sees nothing of that one, and can be called from it at any place, also in a dataflow
        block.

        Parameters
        ----------
        name : str
            Where it is taken, a number is added.
        params : sequence of Var
            They stand for the arguments inside.
        ret_struct_info : StructInfo
            The result type.

        Yields
        ------
        GlobalVar
            The function, which may call itself.

        Raises
        ------
        ValueError
            If a parameter is one of a function that is being written, or the body ends without
            `emit_func_output`.

        Examples
        --------
        >>> from relax_mlir import TensorStructInfo, Var, op
        >>> bb = BlockBuilder()
        >>> vector = TensorStructInfo(("n",), "float32")
        >>> x, y = (Var(name, vector) for name in "xy")
        >>> with bb.function("main", [x]):
        ...     with bb.dataflow():
        ...         with bb.private_function("twice", [y], vector) as twice:
        ...             _ = bb.emit_func_output(op.add(y, y))
        ...         out = bb.emit_output(op.call(twice, x))
        ...     _ = bb.emit_func_output(out)
        >>> bb.get().get_global_vars()
        [GlobalVar(name='main'), GlobalVar(name='twice')]
        """
        self._require_free(name, params)
        new_name = self._unused_name(name)
        around, self._names = self._names, Names(param.name for param in params)
        try:
            with self._context:
                function = FunctionBody(self._module, new_name, params, True, True, ret_struct_info)
                with self._write(function, None):
                    yield GlobalVar(new_name)
        finally:
            self._names = around

    @contextlib.contextmanager
    def closure(
        self,
        name: str,
        params: Sequence[Var] = (),
        attrs: Mapping[str, Any] | None = None,
        *,
        pure: bool = True,
        ret_struct_info: ir.Type | None = None,
    ) -> Iterator[Var]:
        """Write a function inside of another one, in the body of the ``with`` statement.

        It may use what is visible around it: values, and shape variables of types. They are
        captured by reference.

        Parameters
        ----------
        name : str
            For messages of errors.
        params : sequence of Var
            They stand for the arguments inside.
        attrs : mapping of str to bool, int, float, str or mlir.ir.Attribute, optional
        pure : bool
            Whether a call has no visible side effects.
        ret_struct_info : StructInfo, optional
            The result type. By default it follows from the value that is returned; a recursive
            closure has to state it.

        Yields
        ------
        Var
            The closure: a value to call, pass on or return. Inside of its own body it can be used
            where `ret_struct_info` is given.

        Raises
        ------
        ValueError
            If no function is being written, a parameter is one of it, or the body ends without
            `emit_func_output`.

        Examples
        --------
        >>> from relax_mlir import TensorStructInfo, Var, op
        >>> bb = BlockBuilder()
        >>> x, y = (Var(name, TensorStructInfo(("n",), "float32")) for name in "xy")
        >>> with bb.function("main", [x]):
        ...     with bb.closure("plus_x", [y]) as plus_x:
        ...         _ = bb.emit_func_output(op.add(y, x))
        ...     _ = bb.emit_func_output(op.call(plus_x, op.exp(x)))
        >>> print(plus_x.struct_info)
        !relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, pure>
        """
        self._require(self._function is not None, "closure", "inside function")
        self._require_free(name, params)
        closure = ClosureBody(self._context, name, params, pure, ret_struct_info)
        with self._write(closure, attrs):
            yield closure.variable

    @staticmethod
    def _require_free(name: str, params: Sequence[Var]) -> None:
        """Raise ValueError if a variable is a parameter of a function that is being written."""
        functions = [builder._function for builder in BlockBuilder._stack]
        taken = {id(param) for each in functions if each is not None for param in each.params}
        for param in params:
            if id(param) in taken:
                raise ValueError(
                    f"expected other parameters of '{name}', but '{param.name}' is one of a "
                    "function that is being written: make a Var for each"
                )

    @contextlib.contextmanager
    def _write(
        self, function: FunctionBody | ClosureBody, attrs: Mapping[str, Any] | None
    ) -> Iterator[None]:
        """Write the body of a function, then go on with what is around it."""
        around = self._function, self._dataflow
        self._function, self._dataflow = function, None
        BlockBuilder._stack.append(self)
        if isinstance(function, FunctionBody) and function.is_open:
            _bind_parameter.append(function.add_parameter)
        try:
            function.set_attributes(attrs or {})
            with ir.InsertionPoint(function.block):
                yield
            if not function.is_returned:
                raise ValueError(f"expected emit_func_output in function '{function.name}'")
        except BaseException:
            # Kept, because values of it may still be in use.
            discard(self._module, isolated(detach_unchecked(function.op.operation)))
            raise
        finally:
            if isinstance(function, FunctionBody) and function.is_open:
                _bind_parameter.remove(function.add_parameter)
            function.release()
            BlockBuilder._stack.remove(self)
            self._function, self._dataflow = around

    def set_func_attrs(self, attrs: Mapping[str, Any]) -> None:
        """Set attributes of the function, or the closure, that is being written.

        Parameters
        ----------
        attrs : mapping of str to bool, int, float, str or mlir.ir.Attribute
        """
        self._require(self._function is not None, "set_func_attrs", "inside function")
        assert self._function is not None
        self._function.set_attributes(attrs)

    def emit_func_output(
        self, output: Any, params: Sequence[Var] | Var | None = None
    ) -> GlobalVar | Var:
        """Return a value from the function, or from the closure, that is being written.

        Parameters
        ----------
        output : value
            A Python tuple becomes a tuple of values.
        params : sequence of Var, optional
            The parameters, where `function` has none.

        Returns
        -------
        GlobalVar or Var
            The function, for `relax_mlir.op.call`.

        Raises
        ------
        ValueError
            If the value is incompatible with the declared result.

        Warns
        -----
        StructInfoWarning
            If it may or may not be of the type of the declared result: the function checks it
            before it returns.
        """
        self._require(self._function is not None, "emit_func_output", "inside function")
        self._require(self._dataflow is None, "emit_func_output", "outside of dataflow")
        assert self._function is not None
        self._require(not self._function.is_returned, "emit_func_output", "once in each function")
        value = as_value(output)
        require_visible("emit_func_output", [value], self._function.block)
        given = [params] if isinstance(params, Var) else params
        if isinstance(self._function, FunctionBody):
            self._function.close(given)
        elif given is not None:
            raise ValueError("expected the parameters of a closure in BlockBuilder.closure")
        return self._function.emit_return(value)

    def add_func(self, func: Any, name: str | None = None) -> GlobalVar:
        """Add a function that is written already, for instance a kernel.

        Parameters
        ----------
        func : str, mlir.ir.Operation, mlir.ir.OpView or Function
            One function, as an operation (which is copied) or as text of MLIR. Text may hold other
            functions besides if they are private.
        name : str, optional
            A new name.

        Returns
        -------
        GlobalVar

        See Also
        --------
        add_kernel : Adds a kernel under a name that is still free, and an equal one only once.

        Raises
        ------
        mlir.ir.MLIRError
            If the text does not parse.
        ValueError
            If there is not exactly one function, or the name is taken.
        """
        with self._context, ir.Location.unknown():
            if isinstance(func, str):
                source = parse_module(func, self._context)
                ops = [op.operation for op in source.body.operations]
            else:
                ops = [operation_of(func)]
            main = main_function(ops)
            new_name = name or main.attributes["sym_name"].value
            names = [op.attributes["sym_name"].value for op in ops if op != main]
            for taken in (new_name, *names):
                self._require_new_name(taken)
            for op in ops:
                copy = op.clone(ip=ir.InsertionPoint(self._module.body))
                if op == main:
                    copy.operation.attributes["sym_name"] = ir.StringAttr.get(new_name)
        return GlobalVar(new_name)

    def add_kernel(self, func: ir.Operation | ir.OpView, name: str) -> GlobalVar:
        """Add a kernel, private to the module, unless there is an equal one.

        Parameters
        ----------
        func : mlir.ir.Operation or mlir.ir.OpView
            A ``func.func``; it is copied.
        name : str
            The name; where it is taken, a number is added.

        Returns
        -------
        GlobalVar
            The kernel, or the equal one.

        Examples
        --------
        >>> from relax_mlir import te
        >>> A = te.placeholder(("n",), name="A")
        >>> kernel = te.create_prim_func([A, te.compute(A.shape, lambda i: A[i] + 1)])
        >>> bb = BlockBuilder()
        >>> bb.add_kernel(kernel, "add_one"), bb.add_kernel(kernel, "again")
        (GlobalVar(name='add_one'), GlobalVar(name='add_one'))
        """
        if self._kernels is None:
            self._kernels = {}
            for op in self._module.body.operations:
                if op.operation.name == "func.func" and is_private(op.operation):
                    self._kernels.setdefault(structure_of(op.operation), op.sym_name.value)
        structure = structure_of(operation_of(func))
        known = self._kernels.get(structure)
        if known is not None and self._symbol(known) is not None:
            return GlobalVar(known)
        new_name = self._unused_name(name)
        with self._context, ir.Location.unknown():
            copy = func.operation.clone(ip=ir.InsertionPoint(self._module.body)).operation
            copy.attributes["sym_name"] = ir.StringAttr.get(new_name)
            copy.attributes["sym_visibility"] = ir.StringAttr.get("private")
        self._kernels[structure] = new_name
        return GlobalVar(new_name)

    def update_func(self, gv: GlobalVar | str, func: Any) -> None:
        """Put another function in the place of one of the module, under its name.

        Parameters
        ----------
        gv : GlobalVar or str
        func : str, mlir.ir.Operation, mlir.ir.OpView or Function
            As `add_func` takes it.

        Raises
        ------
        ValueError
            If there is no function of this name.
        """
        name = gv.name if isinstance(gv, GlobalVar) else gv
        old = self._symbol(name)
        if old is None:
            raise ValueError(f"expected a function of the module, but got '{name}'")
        self._kernels = None
        before = old.attributes["sym_name"]
        with self._context:
            old.attributes["sym_name"] = ir.StringAttr.get(f"{name}.replaced")
        try:
            self.add_func(func, name)
        except BaseException:
            old.attributes["sym_name"] = before
            raise
        new = self._symbol(name)
        assert new is not None
        new.move_after(old)
        discard(self._module, isolated(detach_unchecked(old.operation)))

    def get(self) -> IRModule:
        """Return the module.

        Returns
        -------
        IRModule
            A copy, verified.

        Raises
        ------
        mlir.ir.MLIRError
            If the module is not valid; the message names the operation and what is wrong.
        """
        self._require(self._function is None, "get", "outside of function")
        with raise_errors(self._context):
            self._module.operation.verify()
        return IRModule(_ext.clone_module(self._module))

    def finalize(self) -> IRModule:
        """Return the module, when all is written. The same as `get`: names are unique anyway.

        Returns
        -------
        IRModule
        """
        return self.get()

    # -- scopes -------------------------------------------------------------------------------

    @contextlib.contextmanager
    def testing_scope(self, def_vars: Sequence[Any] = ()) -> Iterator[None]:
        """Write values outside of any function, for tests; nothing of it stays.

        Parameters
        ----------
        def_vars : sequence of str, Dim or tir.Var
            The shape variables that are known inside.

        Examples
        --------
        >>> from relax_mlir import op
        >>> bb = BlockBuilder()
        >>> with bb.testing_scope(["n"]):
        ...     print(bb.emit(op.zeros(("n", 2), "float32")).type)
        !relax.tensor<[n, 2], f32>
        """
        known = Var("sparam", ShapeStructInfo([shape_var_name(each) for each in def_vars]))
        self.begin_scope([known])
        try:
            with self.dataflow():
                yield
        finally:
            self.end_scope()

    def begin_scope(self, params: Sequence[Var] | None = None) -> None:
        """Begin to write values outside of any function; nothing of them stays.

        Parameters
        ----------
        params : sequence of Var, optional
            Variables that are known until `end_scope`.
        """
        self._require(self._function is None, "begin_scope", "outside of function")
        stack = contextlib.ExitStack()
        stack.enter_context(self._context)
        function = FunctionBody(self._module, "scope", list(params or ()), True, True, None)
        self._names = Names(param.name for param in params or ())
        stack.callback(self._leave_scope, function, self._function)
        stack.enter_context(ir.InsertionPoint(function.block))
        self._function = function
        BlockBuilder._stack.append(self)
        self._scopes.append(stack)

    def end_scope(self) -> None:
        """End what `begin_scope` began."""
        self._require(bool(self._scopes), "end_scope", "after begin_scope")
        self._scopes.pop().close()

    def _leave_scope(
        self, function: FunctionBody, around: FunctionBody | ClosureBody | None
    ) -> None:
        function.release()
        discard(self._module, isolated(detach_unchecked(function.op.operation)))
        self._function, self._dataflow = around, None
        BlockBuilder._stack.remove(self)

    def current_block_is_dataflow(self) -> bool:
        """Say whether a dataflow block is being written."""
        return self._dataflow is not None

    def get_unique_name(self, name_prefix: str) -> str:
        """Return a name that no value of the function has; it is taken from now on.

        Parameters
        ----------
        name_prefix : str

        Examples
        --------
        >>> bb = BlockBuilder()
        >>> bb.get_unique_name("x"), bb.get_unique_name("x")
        ('x', 'x1')
        """
        return self._names.unique(name_prefix)

    # -- values -------------------------------------------------------------------------------

    @contextlib.contextmanager
    def dataflow(self) -> Iterator[None]:
        """Write a dataflow block in the body of the ``with`` statement.

        Only what `emit_output` returns can be used after it.
        """
        self._require(self._function is not None, "dataflow", "inside function")
        self._require(self._dataflow is None, "dataflow", "outside of another one")
        self._dataflow = DataflowBody()
        with ir.InsertionPoint(self._dataflow.block):
            yield
            self._dataflow.finish()
        self._dataflow = None

    def emit(self, expr: Any, name_hint: str = "", struct_info: ir.Type | None = None) -> ir.Value:
        """Return a value, with a name and, where one is stated, a type.

        Parameters
        ----------
        expr : value
            The result of an operator, or a Python value.
        name_hint : str
            The name, kept as its location. By default it is lv in a dataflow block and gv
            elsewhere. A number is added where it is taken.
        struct_info : StructInfo, optional
            The type that is stated for the value. One that says less than the type of the value
            is taken. One that says more is checked at run time, as `match_cast` does.

        Returns
        -------
        mlir.ir.Value

        Raises
        ------
        ValueError
            If no value of this type is of the type that is stated (DR08).

        Warns
        -----
        StructInfoWarning
            If the stated type says more than that of the value.

        Examples
        --------
        >>> from relax_mlir import TensorStructInfo, Var, op
        >>> bb = BlockBuilder()
        >>> x = Var("x", TensorStructInfo(("n",), "float32"))
        >>> with bb.function("main", [x]):
        ...     y = bb.emit(op.exp(x), "y", TensorStructInfo(ndim=1))
        ...     _ = bb.emit_func_output(y)
        >>> print(y.type)
        !relax.tensor<ndim = 1>
        """
        if expr is None:
            raise TypeError("expected a value, but got None; op.null_value() is the null object")
        value = as_value(expr)
        if struct_info is not None and value.type != struct_info:
            value = declared_value(value, struct_info)
        self._set_name(value, name_hint, "lv" if self._dataflow is not None else "gv")
        return value

    def _set_name(self, value: ir.Value, name_hint: str, default: str) -> None:
        """Give the result of an operation its name, unless it has one and no other is wanted."""
        if self._keeps_names:
            if name_hint:
                set_name(value, name_hint)
        elif not isinstance(value.owner, ir.Block):
            known = name_of(value)
            if name_hint and name_hint != known:
                set_name(value, self._names.unique(name_hint))
            elif not known:
                set_name(value, self._names.unique(default))

    def emit_te(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> ir.Value:
        """Call a function of tensor expressions as a kernel, and return the value with a name.

        Parameters
        ----------
        func : callable
            Takes a `relax_mlir.te.Tensor` for each tensor, a list of expressions for each shape,
            an expression for each dimension, and anything else as it is. It returns a tensor, or a
            list or tuple of them.
        *args, **kwargs
            The arguments of the call: values of the program, dimensions, numbers, strings, types,
            attributes, None; lists, tuples and dicts of them.
        name_hint : str, optional
            The name of the value.
        primfunc_name_hint : str, optional
            The name of the kernel, by default that of `func`. Equal kernels are one.
        primfunc_attrs : mapping of str to object, optional
            Attributes of the kernel.
        sinfo_args, ty_args : StructInfo or sequence of it, optional
            The types of the outputs, by default what the tensors say.

        Returns
        -------
        mlir.ir.Value
            The output, or a tuple of several.

        Raises
        ------
        TypeError, ValueError
            If an argument is nothing that the function can take, or a tensor is not of known shape
            and data type.

        Examples
        --------
        >>> from relax_mlir import TensorStructInfo, Var, te
        >>> def scaled(A, factor):
        ...     return te.compute(A.shape, lambda *i: A(*i) * factor)
        >>> bb = BlockBuilder()
        >>> x = Var("x", TensorStructInfo(("n", "m"), "float32"))
        >>> with bb.function("main", [x]):
        ...     y = bb.emit_te(scaled, x, 2)
        ...     _ = bb.emit_func_output(y)
        >>> print(y.type)
        !relax.tensor<[n, m], f32>
        >>> bb.get().get_global_vars()
        [GlobalVar(name='main'), GlobalVar(name='scaled')]
        """
        name_hint = kwargs.pop("name_hint", "")
        return self.emit(self.call_te(func, *args, **kwargs), name_hint)

    def call_te(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> ir.Value:
        """Call a function of tensor expressions as a kernel, as `emit_te` without a name.

        Parameters
        ----------
        func : callable
        *args, **kwargs
            As `emit_te` takes them, without `name_hint`.

        Returns
        -------
        mlir.ir.Value
        """
        self._require(self._function is not None or self._is_here(), "call_te", "inside function")
        made = call_kernel(func, args, kwargs)
        visible = visible_here()
        for name in made.variables():
            if name not in visible:
                raise ValueError(
                    f"expected shape variables that are known here from '{made.name}', but got "
                    f"'{name}'"
                )
        gvar = self.add_kernel(made.kernel, made.name)
        return _op.call_tir(gvar, made.args, made.out_sinfo, made.tir_vars or None)

    def call_te_with_grad(
        self,
        func: Callable[..., Any],
        *args: Any,
        te_grad_name: str,
        te_grad_kwargs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> ir.Value:
        """Call a function of tensor expressions as `call_te`, and say what its gradient is.

        Parameters
        ----------
        func : callable
        *args, **kwargs
            As `call_te` takes them.
        te_grad_name : str
            The name of the function of tensor expressions that is its gradient.
        te_grad_kwargs : mapping of str to object, optional
            Additional arguments of that function.

        Returns
        -------
        mlir.ir.Value
            The call has the attributes te_grad_name and te_grad_kwargs.
        """
        value = self.call_te(func, *args, **kwargs)
        state_te_gradient(value, te_grad_name, te_grad_kwargs)
        return value

    def emit_normalized(self, binding: Any) -> ir.Value:
        """Insert an operation as it is.

        Parameters
        ----------
        binding : mlir.ir.Operation, mlir.ir.OpView or value
            A detached operation is inserted here; anything else stays where it is.

        Returns
        -------
        mlir.ir.Value
            Its result.
        """
        if isinstance(binding, (ir.OpView, ir.Operation)):
            operation = binding.operation
            if not operation.attached:
                ir.InsertionPoint.current.insert(operation)
            binding = operation.results[0]
        return self.emit(binding)

    def normalize(self, expr: Any) -> ir.Value:
        """Return an expression as a value: every operation is a binding of its own, with its type.

        Parameters
        ----------
        expr : value
            The result of an operator, or a Python value.

        Returns
        -------
        mlir.ir.Value
        """
        return as_value(expr)

    def lookup_binding(self, var: Any) -> ir.OpView | None:
        """Return the operation that a value is bound to.

        Parameters
        ----------
        var : mlir.ir.Value or Var

        Returns
        -------
        mlir.ir.OpView or None
            None for a parameter.

        Raises
        ------
        TypeError
            If it is neither a value nor a Var.

        Examples
        --------
        >>> from relax_mlir import op
        >>> bb = BlockBuilder()
        >>> with bb.testing_scope():
        ...     bb.lookup_binding(bb.emit(op.zeros((2,), "float32"))).operation.name
        'relax.zeros'
        """
        if not isinstance(var, (ir.Value, ir.OpView, Leaf, Var)):
            raise TypeError(f"expected a value or Var, but got {shown(var)}")
        value = as_value(var)
        owner = value.owner
        if isinstance(owner, ir.Block):
            return None
        return owner.opview if isinstance(owner, ir.Operation) else owner

    def match_cast(self, value: Any, struct_info: ir.Type, name_hint: str = "") -> ir.Value:
        """Check a value at run time and bind the shape variables that are new in `struct_info`.

        Parameters
        ----------
        value : value
        struct_info : StructInfo
        name_hint : str

        Returns
        -------
        mlir.ir.Value
            The value, of type `struct_info`.
        """
        return self.emit(_op.match_cast(value, struct_info), name_hint)

    def emit_output(self, output: Any, name_hint: str = "") -> Var:
        """Make a value of a dataflow block visible after it. Call it once for each such value.

        Parameters
        ----------
        output : value
            A Python tuple becomes a tuple of values.
        name_hint : str

        Returns
        -------
        Var
            The value, inside of the block and after it.
        """
        self._require(self._dataflow is not None, "emit_output", "inside dataflow")
        assert self._dataflow is not None
        value = as_value(output)
        require_visible("emit_output", [value], self._dataflow.block)
        self._set_name(value, name_hint, "gv")
        name = name_hint or name_of(value) or self._names.unique("gv")
        return self._dataflow.add_output(value, name)

    def if_(
        self,
        cond: Any,
        then_branch: Callable[[], Any],
        else_branch: Callable[[], Any],
        name_hint: str = "",
    ) -> ir.Value:
        """Write a branch.

        Parameters
        ----------
        cond : value
            A Boolean tensor of rank 0.
        then_branch, else_branch : callable
            Each writes one branch and returns its value.
        name_hint : str

        Returns
        -------
        mlir.ir.Value
            The value of the branch taken. Its type covers those of both.

        Raises
        ------
        TypeError
            If a branch is no function without parameters.
        """
        self._require(self._function is not None, "if_", "inside function")
        self._require(self._dataflow is None, "if_", "outside of dataflow")
        _require_branch("then_branch", then_branch)
        _require_branch("else_branch", else_branch)
        condition = as_value(cond)
        require_visible("if_", [condition], ir.InsertionPoint.current.block)
        # The result type is known at the end only, so the branches move to their place then.
        draft = _ops.IfOp(ObjectStructInfo(), condition, loc=current_location())
        values = []
        for region, branch in zip(draft.operation.regions, (then_branch, else_branch), strict=True):
            with ir.InsertionPoint(region.blocks.append()) as point:
                values.append(as_value(branch()))
                require_visible("if_", [values[-1]], point.block)
                _ops.YieldOp(values[-1], loc=current_location())
        scope = bound_before(draft.operation)
        then_type, else_type = (erase_to_well_defined(value.type, scope, scope) for value in values)
        with ir.InsertionPoint(draft):
            value = build(_ops.IfOp, unify_struct_info(then_type, else_type), condition)
        replace_draft(draft, value.owner)
        return self.emit(value, name_hint)

    def _sequence(self, write: Callable[[], Any]) -> ir.Value:
        """Write a sequence of bindings in a scope of its own, which returns its value."""
        around, self._dataflow = self._dataflow, None
        # The result type is known at the end only.
        draft = _ops.SeqOp(ObjectStructInfo(), loc=current_location())
        try:
            with ir.InsertionPoint(draft.body.blocks.append()):
                value = as_value(write())
                _ops.YieldOp(value, loc=current_location())
        finally:
            self._dataflow = around
        scope = bound_before(draft.operation)
        draft.result.set_type(erase_to_well_defined(value.type, scope, scope))
        draft.operation.verify()
        return self.emit(draft.result)

    # -- helpers ------------------------------------------------------------------------------

    def _is_here(self) -> bool:
        """Say whether the current place is in the module, as where a function is rewritten."""
        try:
            op = ir.InsertionPoint.current.block.owner.operation
        except ValueError:  # there is none
            return False
        while op.parent is not None:
            op = op.parent.operation
        return op == self._module.operation

    @staticmethod
    def _require(condition: bool, what: str, where: str) -> None:
        if not condition:
            raise ValueError(f"expected BlockBuilder.{what} {where}")

    def _require_new_name(self, name: str) -> None:
        if self._symbol(name) is not None:
            raise ValueError(f"expected a new name for a function, but got '{name}' again")

    def _symbol(self, name: str) -> ir.Operation | None:
        """Return the function of this name, or None."""
        for op in self._module.body.operations:
            if symbol_name(op) == name:
                return op.operation
        return None


def _require_branch(what: str, branch: Any) -> None:
    """Raise TypeError if something is no function without parameters."""
    if isinstance(branch, (ir.Value, ir.OpView, Leaf, Var)) or not callable(branch):
        raise TypeError(
            f"if_: expected {what} to be a function that writes the branch, but got {shown(branch)}"
        )
    try:
        signature = inspect.signature(branch)
    except ValueError:  # of a function in C
        return
    try:
        signature.bind()
    except TypeError:
        raise TypeError(
            f"if_: expected {what} to take no arguments, but it takes {signature}"
        ) from None
