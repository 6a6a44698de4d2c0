# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writing a module function by function, as with TVM's BlockBuilder."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from mlir import ir

from . import op as _op
from ._mlir_libs import _relax_mlir as _ext
from .analysis import (
    StructInfoWarning,
    binding_vars,
    check_compatibility,
    erase_to_well_defined,
    unify_struct_info,
)
from .attributes import attribute
from .context import current_context, current_location
from .diagnostics import parse_module
from .dialects import relax as _ops
from .expr import GlobalVar, Var, _bind_parameter, as_value, build, require_context
from .ir import FuncStructInfo, ObjectStructInfo, PrimExpr, ShapeStructInfo
from .vdevice import VDevice, set_global_info

if TYPE_CHECKING:
    from .ir_module import IRModule


class BlockBuilder:
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
    >>> print(bb.get().body.operations[0].function_type.value)
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
            self._module = ir.Module.create(ir.Location.unknown(self._context))
        else:
            from .ir_module import as_module

            with self._context:
                self._module = as_module(mod).clone().module
            self._context = self._module.context
        if global_info:
            set_global_info(self._module, global_info)
        self._function: _Function | _Closure | None = None
        self._dataflow: _Dataflow | None = None
        self._discarded: list[ir.Operation] = []
        self._kernels: dict[str, str] | None = None
        self._names = _Names()
        # Whether names are what a program says, which may say one twice and none.
        self._keeps_names = False
        self._scopes: list[contextlib.ExitStack] = []

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
            If another function is being written, the name is taken, or the body ends without
            `emit_func_output`. What was written of the function is discarded.
        """
        self._require(
            self._function is None, "function", "outside of another one; see BlockBuilder.closure"
        )
        self._require_new_name(name)
        given = [params] if isinstance(params, Var) else params
        with self._context:
            function = _Function(self._module, name, given, pure, private, ret_struct_info)
            self._names = _Names(param.name for param in given or ())
            with self._write(function, attrs):
                yield

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
            If no function is being written, or the body ends without `emit_func_output`.

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
        closure = _Closure(self._context, name, params, pure, ret_struct_info)
        with self._write(closure, attrs):
            yield closure.variable

    @contextlib.contextmanager
    def _write(
        self, function: _Function | _Closure, attrs: Mapping[str, Any] | None
    ) -> Iterator[None]:
        """Write the body of a function, then go on with what is around it."""
        around = self._function, self._dataflow
        self._function, self._dataflow = function, None
        BlockBuilder._stack.append(self)
        if isinstance(function, _Function) and function.is_open:
            _bind_parameter.append(function.add_parameter)
        try:
            function.set_attributes(attrs or {})
            with ir.InsertionPoint(function.block):
                yield
            if not function.is_returned:
                raise ValueError(f"expected emit_func_output in function '{function.name}'")
        except BaseException:
            # Kept, because values of it may still be in use.
            self._discarded.append(_isolated(function.op.operation.detach_from_parent()))
            raise
        finally:
            if isinstance(function, _Function) and function.is_open:
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
        given = [params] if isinstance(params, Var) else params
        if isinstance(self._function, _Function):
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
                ops = [func.operation]
            main = _main_function(ops)
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
                if op.operation.name == "func.func" and _is_private(op.operation):
                    self._kernels.setdefault(_structure(op.operation), op.sym_name.value)
        structure = _structure(func.operation)
        known = self._kernels.get(structure)
        if known is not None and self._symbol(known) is not None:
            return GlobalVar(known)
        names = _Names(filter(None, map(_symbol_name, self._module.body.operations)))
        new_name = names.unique(name)
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
        self._discarded.append(_isolated(old.detach_from_parent()))

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
        from .ir_module import IRModule

        self._require(self._function is None, "get", "outside of function")
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
        def_vars : sequence of str, PrimExpr or tir.Var
            The shape variables that are known inside.

        Examples
        --------
        >>> from relax_mlir import op
        >>> bb = BlockBuilder()
        >>> with bb.testing_scope(["n"]):
        ...     print(bb.emit(op.zeros(("n", 2), "float32")).type)
        !relax.tensor<[n, 2], f32>
        """
        known = Var("sparam", ShapeStructInfo([_shape_var(each) for each in def_vars]))
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
        function = _Function(self._module, "scope", list(params or ()), True, True, None)
        self._names = _Names(param.name for param in params or ())
        stack.callback(self._leave_scope, function, self._function)
        stack.enter_context(ir.InsertionPoint(function.block))
        self._function = function
        BlockBuilder._stack.append(self)
        self._scopes.append(stack)

    def end_scope(self) -> None:
        """End what `begin_scope` began."""
        self._require(bool(self._scopes), "end_scope", "after begin_scope")
        self._scopes.pop().close()

    def _leave_scope(self, function: _Function, around: _Function | _Closure | None) -> None:
        function.release()
        self._discarded.append(_isolated(function.op.operation.detach_from_parent()))
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
        self._dataflow = _Dataflow()
        with ir.InsertionPoint(self._dataflow.block):
            yield
            self._dataflow.finish()
        self._dataflow = None

    def emit(self, expr: Any, name_hint: str = "", struct_info: ir.Type | None = None) -> ir.Value:
        """Return a value, with a name and, where one is stated, a type.

        Parameters
        ----------
        expr : value
            What an operator returned, or a Python value.
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
        value = as_value(expr)
        if struct_info is not None and value.type != struct_info:
            value = _declared(value, struct_info)
        self._set_name(value, name_hint, "lv" if self._dataflow is not None else "gv")
        return value

    def _set_name(self, value: ir.Value, name_hint: str, default: str) -> None:
        """Give the result of an operation its name, unless it has one and no other is wanted."""
        if self._keeps_names:
            if name_hint:
                _set_name(value, name_hint)
        elif not isinstance(value.owner, ir.Block):
            known = _name_of(value)
            if name_hint and name_hint != known:
                _set_name(value, self._names.unique(name_hint))
            elif not known:
                _set_name(value, self._names.unique(default))

    def emit_te(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> ir.Value:
        """Call a function of tensor expressions as a kernel, and return the value with a name.

        Parameters
        ----------
        func : callable
            Takes a `relax_mlir.te.Tensor` for each tensor, a list of expressions for each shape,
            an expression for each dimension, and anything else as it is. It returns a tensor, or a
            list or tuple of them.
        *args, **kwargs
            What it is called with: values of the program, dimensions, numbers, strings, types,
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
        from .te.call import call_kernel

        self._require(self._function is not None or self._is_here(), "call_te", "inside function")
        made = call_kernel(func, args, kwargs)
        visible = _visible_here()
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
            What that is called with besides.

        Returns
        -------
        mlir.ir.Value
            The call has the attributes te_grad_name and te_grad_kwargs.
        """
        value = self.call_te(func, *args, **kwargs)
        with self._context:
            value.owner.attributes["te_grad_name"] = ir.StringAttr.get(te_grad_name)
            value.owner.attributes["te_grad_kwargs"] = attribute(
                "te_grad_kwargs", dict(te_grad_kwargs or {})
            )
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
            What an operator returned, or a Python value.

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

        Examples
        --------
        >>> from relax_mlir import op
        >>> bb = BlockBuilder()
        >>> with bb.testing_scope():
        ...     bb.lookup_binding(bb.emit(op.zeros((2,), "float32"))).operation.name
        'relax.zeros'
        """
        value = var.value if isinstance(var, Var) else as_value(var)
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
        self._set_name(value, name_hint, "gv")
        name = name_hint or _name_of(value) or self._names.unique("gv")
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
        """
        self._require(self._function is not None, "if_", "inside function")
        self._require(self._dataflow is None, "if_", "outside of dataflow")
        condition = as_value(cond)
        # The result type is known at the end only, so the branches move to their place then.
        draft = _ops.IfOp(ObjectStructInfo(), condition, loc=current_location())
        values = []
        for region, branch in zip(draft.operation.regions, (then_branch, else_branch), strict=True):
            with ir.InsertionPoint(region.blocks.append()):
                values.append(as_value(branch()))
                _ops.YieldOp(values[-1], loc=current_location())
        scope = _bound_before(draft.operation)
        then_type, else_type = (erase_to_well_defined(value.type, scope, scope) for value in values)
        with ir.InsertionPoint(draft):
            value = build(_ops.IfOp, unify_struct_info(then_type, else_type), condition)
        _replace(draft, value.owner)
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
        scope = _bound_before(draft.operation)
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
            if _symbol_name(op) == name:
                return op.operation
        return None


class _Names:
    """Names that are taken."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._taken = set(names)

    def unique(self, prefix: str) -> str:
        """Return the prefix, with a number where it is taken, and take it."""
        name, number = prefix, 0
        while name in self._taken:
            number += 1
            name = f"{prefix}{number}"
        self._taken.add(name)
        return name


class _Body:
    """What functions and closures that are being written have in common."""

    op: Any
    block: ir.Block
    # Attributes of the operation itself.
    reserved: tuple[str, ...] = ("sym_visibility", "is_pure", "arg_names")

    def __init__(
        self, context: ir.Context, name: str, params: Sequence[Var], ret_struct_info: ir.Type | None
    ) -> None:
        self.name = name
        self.params = list(params)
        self.ret_struct_info = ret_struct_info
        self.is_returned = False
        self.types = [param.struct_info for param in params]
        require_context([*self.types, ret_struct_info], context)

    def names(self) -> ir.Attribute:
        return ir.ArrayAttr.get([ir.StringAttr.get(param.name) for param in self.params])

    def make_block(self, region: ir.Region, own: Sequence[ir.Type], loc: ir.Location) -> ir.Block:
        """Make the body, whose arguments are some of its own and the parameters."""
        locs = [ir.Location.name(param.name, childLoc=loc) for param in self.params]
        block = ir.Block.create_at_start(region, [*own, *self.types], [*(loc for _ in own), *locs])
        arguments = list(block.arguments)[len(own) :]
        for param, argument in zip(self.params, arguments, strict=True):
            param._value = argument
        return block

    def set_attributes(self, attrs: Mapping[str, Any]) -> None:
        for name, value in attrs.items():
            if name in self.op.operation.attributes or name in self.reserved:
                raise ValueError(f"expected another name for an attribute, but got '{name}'")
            self.op.operation.attributes[name] = attribute(name, value)

    def result_type(self, value: ir.Value, around: Iterable[str] = ()) -> ir.Type:
        """Return the type that was stated, or that of the value as callers see it."""
        if self.ret_struct_info is not None:
            self._check_result(value.type, self.ret_struct_info)
            return self.ret_struct_info
        scope = [name for type_ in self.types for name in binding_vars(type_)]
        names = [*around, *scope]
        return erase_to_well_defined(value.type, names, names)

    def _check_result(self, actual: ir.Type, declared: ir.Type) -> None:
        compatible = check_compatibility(actual, declared)
        if compatible is False:
            raise ValueError(
                f"expected a result of type {declared} from function "
                f"'{self.name}', but got {actual}"
            )
        if compatible is None:
            warnings.warn(
                f"a result of type {actual} may not be of the declared type {declared}: "
                "match_cast would check it here, or else the function does on return",
                StructInfoWarning,
                stacklevel=5,
            )

    def release(self) -> None:
        for param in self.params:
            param._value = None


class _Function(_Body):
    """A function that is being written."""

    def __init__(
        self,
        module: ir.Module,
        name: str,
        params: Sequence[Var] | None,
        pure: bool,
        private: bool,
        ret_struct_info: ir.Type | None,
    ) -> None:
        super().__init__(module.context, name, params or (), ret_struct_info)
        # Whether parameters may still come.
        self.is_open = params is None
        loc = current_location()
        with ir.InsertionPoint(module.body):
            self.op = _ops.FuncOp(
                name,
                ir.TypeAttr.get(self._signature(ret_struct_info or ObjectStructInfo())),
                sym_visibility="private" if private else None,
                arg_names=self.names(),
                is_pure=None if pure else False,
                loc=loc,
            )
        self.block = self.make_block(self.op.body, [], loc)

    def _signature(self, result: ir.Type) -> ir.Type:
        return ir.FunctionType.get(self.types, [result])

    def add_parameter(self, param: Var) -> None:
        """Make a variable a parameter; `close` says at which place."""
        require_context([param.struct_info], self.op.operation.context)
        loc = ir.Location.name(param.name, childLoc=current_location())
        param._value = self.block.add_argument(param.struct_info, loc)
        self.params.append(param)

    def close(self, params: Sequence[Var] | None) -> None:
        """State the parameters, if they are not stated yet."""
        if not self.is_open:
            if params is not None:
                raise ValueError("expected the parameters once, in function or in emit_func_output")
            return
        stated = list(params or ())
        for param in self.params:
            if not any(param is each for each in stated):
                raise ValueError(
                    f"expected '{param.name}', which is used, to be among the parameters that "
                    "function or emit_func_output state"
                )
        used, self.params, self.types = self.params, [], []
        for param in stated:
            old = param._value if any(param is each for each in used) else None
            self.add_parameter(param)
            if old is not None:
                old.replace_all_uses_with(param.value)
        for _ in used:
            self.block.erase_argument(0)
        self.types = [param.struct_info for param in stated]
        self.op.operation.attributes["arg_names"] = self.names()
        if self.ret_struct_info is not None:
            signature = self._signature(self.ret_struct_info)
            self.op.operation.attributes["function_type"] = ir.TypeAttr.get(signature)

    def emit_return(self, value: ir.Value) -> GlobalVar:
        signature = self._signature(self.result_type(value))
        self.op.operation.attributes["function_type"] = ir.TypeAttr.get(signature)
        _ops.ReturnOp(value, loc=current_location())
        self.is_returned = True
        return GlobalVar(self.name)


class _Closure(_Body):
    """A closure that is being written."""

    def __init__(
        self,
        context: ir.Context,
        name: str,
        params: Sequence[Var],
        pure: bool,
        ret_struct_info: ir.Type | None,
    ) -> None:
        super().__init__(context, name, params, ret_struct_info)
        self.pure = pure
        loc = ir.Location.name(name, childLoc=current_location())
        type_ = self._type(ret_struct_info or ObjectStructInfo())
        self.op = _ops.ClosureOp(type_, arg_names=self.names(), loc=loc)
        self.block = self.make_block(self.op.body, [type_], loc)
        self.variable = Var(name, type_)
        if ret_struct_info is not None:
            self.variable._value = self.block.arguments[0]

    def _type(self, result: ir.Type) -> ir.Type:
        return FuncStructInfo(self.types, result, self.pure)

    def emit_return(self, value: ir.Value) -> Var:
        type_ = self._type(self.result_type(value, _bound_before(self.op.operation)))
        self.block.arguments[0].set_type(type_)
        self.op.operation.results[0].set_type(type_)
        self.variable.struct_info = type_
        _ops.ReturnOp(value, loc=current_location())
        self.is_returned = True
        return self.variable

    def release(self) -> None:
        super().release()
        self.variable._value = self.op.operation.results[0] if self.is_returned else None


class _Dataflow:
    """A dataflow block that is being written, in an operation without results at first."""

    def __init__(self) -> None:
        self.draft = _ops.DataflowOp([], loc=current_location())
        self.block = self.draft.body.blocks.append()
        self.outputs: list[Var] = []

    def add_output(self, value: ir.Value, name: str) -> Var:
        output = Var(name, value.type)
        output._value = value
        self.outputs.append(output)
        return output

    def finish(self) -> None:
        """Give the operation its results; the outputs stand for them from now on."""
        _ops.OutputOp([output.value for output in self.outputs], loc=current_location())
        with ir.InsertionPoint(self.draft):
            types = [output.struct_info for output in self.outputs]
            final = _ops.DataflowOp(types, loc=self.draft.location)
        _replace(self.draft, final)
        for output, result in zip(self.outputs, final.operation.results, strict=True):
            output._value = result


def _set_name(value: ir.Value, name: str) -> None:
    """Keep a name as the location of the operation that makes a value."""
    op = value.owner
    if isinstance(op, ir.Block):
        return
    place = op.location.child_loc if op.location.is_a_name() else op.location
    op.location = ir.Location.name(name, childLoc=place)


def _declared(value: ir.Value, declared: ir.Type) -> ir.Value:
    """Return a value as one of the type that is stated for it."""
    require_context([declared], value.context)
    compatible = check_compatibility(value.type, declared)
    if compatible is False:
        raise ValueError(f"expected a value of type {declared}, but got one of type {value.type}")
    if _restate(value, declared):
        return value
    if compatible is None:
        warnings.warn(
            f"the declared type {declared} says more than the type {value.type} of the value: it "
            "is checked at run time, as match_cast does",
            StructInfoWarning,
            stacklevel=3,
        )
    return build(_ops.MatchCastOp, declared, value)


def _restate(value: ir.Value, declared: ir.Type) -> bool:
    """Give the result of an operation another type, if the operation allows it.

    That is one that says less, or what a packed function returns.
    """
    op = value.owner
    is_used = any(True for _ in value.uses)
    if isinstance(op, ir.Block) or is_used or op.name == _ops.MatchCastOp.OPERATION_NAME:
        return False
    derived = value.type
    value.set_type(declared)
    try:
        op.verify()
    except ir.MLIRError:
        value.set_type(derived)
        return False
    return True


def _replace(draft: ir.OpView, final: Any) -> None:
    """Move the regions of a draft without uses to the operation that takes its place."""
    for old, new in zip(draft.operation.regions, final.operation.regions, strict=True):
        for block in list(old.blocks):
            block.append_to(new)
    draft.operation.erase()


def _symbol_name(op: Any) -> str | None:
    attributes = op.operation.attributes
    return attributes["sym_name"].value if "sym_name" in attributes else None


def _is_private(op: ir.Operation) -> bool:
    return "sym_visibility" in op.attributes and op.attributes["sym_visibility"].value == "private"


def _structure(op: ir.Operation) -> str:
    """Return a function as text without its name, to compare it with others."""
    text = op.get_asm(print_generic_op_form=True, use_local_scope=True)
    head, body = text.split("({", 1)
    for name in ("sym_name", "sym_visibility"):
        head = re.sub(rf', {name} = "[^"]*"', "", head)
    return head + body


def _shape_var(variable: Any) -> Any:
    """Return the name of a variable that is given as one of expressions."""
    return variable if isinstance(variable, (str, PrimExpr)) else variable.name


def _name_of(value: ir.Value) -> str:
    """Return the name that the result of an operation has, or an empty one."""
    if isinstance(value.owner, ir.Block) or not value.owner.location.is_a_name():
        return ""
    return value.owner.location.name_str


def _isolated(discarded: ir.Operation) -> ir.Operation:
    """Have a function that is discarded use no values of others, nor they its own.

    It may be destroyed before them or after them, which MLIR forbids to what is in use.
    """
    ops: list[Any] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        ops.append(op)
        return ir.WalkResult.ADVANCE

    discarded.walk(visit)
    inside = set(ops)
    values = {value for op in ops for value in op.results}
    blocks = [block for op in ops for region in op.regions for block in region.blocks]
    values |= {argument for block in blocks for argument in block.arguments}

    def replace(user: ir.Operation, index: int) -> None:
        type_ = user.operands[index].type
        stand_in = ir.Operation.create(
            "builtin.unrealized_conversion_cast",
            results=[type_],
            loc=ir.Location.unknown(user.context),
            ip=ir.InsertionPoint(user),
        )
        user.operands[index] = stand_in.results[0]

    for op in ops:
        if op != discarded:
            for index, operand in enumerate(list(op.operands)):
                if operand not in values:
                    replace(op, index)
    for value in values:
        for use in list(value.uses):
            if use.owner.operation not in inside:
                replace(use.owner.operation, use.operand_number)
    return discarded


def _main_function(ops: Sequence[ir.Operation]) -> ir.Operation:
    """Return the one function, or the one that is not private."""
    for op in ops:
        if "sym_name" not in op.attributes:
            raise ValueError(f"expected functions, but got {op.name}")
    public = [op for op in ops if "sym_visibility" not in op.attributes]
    for found in (ops, public):
        if len(found) == 1:
            return found[0]
    raise ValueError(f"expected one function, but got {len(public)} that are not private")


def _visible_here() -> set[str]:
    """Return the shape variables that are visible at the current place, the end of a block."""
    block = ir.InsertionPoint.current.block
    names = {name for op in block for name in _bound_by(op)}
    owner = block.owner.operation
    if owner.name == _ops.ClosureOp.OPERATION_NAME:
        for argument in block.arguments:
            names.update(binding_vars(argument.type))
    return names | _bound_before(owner)


def _bound_before(op: ir.Operation) -> set[str]:
    """Return the shape variables that are visible where `op` is."""
    names: set[str] = set()
    while op.name != _ops.FuncOp.OPERATION_NAME:
        for other in op.block:
            if other.operation == op:
                break
            names.update(_bound_by(other))
        op = op.parent.operation
        if op.name == _ops.ClosureOp.OPERATION_NAME:
            for argument in op.regions[0].blocks[0].arguments:
                names.update(binding_vars(argument.type))
    for type_ in ir.FunctionType(op.attributes["function_type"].value).inputs:
        names.update(binding_vars(type_))
    return names


def _bound_by(op: ir.OpView) -> Iterator[str]:
    """Yield the shape variables that an operation binds for those after it."""
    if isinstance(op, _ops.MatchCastOp):
        yield from binding_vars(op.operation.results[0].type)
    if isinstance(op, _ops.DataflowOp):
        for inner in op.body.blocks[0]:
            yield from _bound_by(inner)
