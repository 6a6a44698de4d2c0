# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Optimizers: functions of parameters, their gradients and a state, to new ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import op
from ..builder.block_builder import BlockBuilder
from ..core.expr import Var, const
from ..core.ir import TensorStructInfo, TupleStructInfo
from ..core.ir_module import FreeFunction


def _number(name: str, value: Any, below: float = math.inf) -> float:
    """Return a number from 0 on, below another one."""
    if isinstance(value, str) or not hasattr(value, "__float__"):
        raise TypeError(f"expected {name} to be a number, but got {value!r}")
    if not 0 <= value < below:
        limit = "" if below == math.inf else f" and below {below}"
        raise ValueError(f"expected {name} to be 0 or more{limit}, but got {value}")
    return float(value)


class Optimizer:
    """An optimizer, which makes a Relax function for the types of parameters.

    Parameters
    ----------
    name : str
        The name of the function.

    Attributes
    ----------
    dtype : str
        The data type of the parameters.
    name : str
    param_list : list of Var
        The parameters that `init` was given.
    state : tuple of numpy.ndarray
        The state before the first step; its first tensor counts the steps.
    """

    dtype: str
    state: tuple[np.ndarray, ...]

    def __init__(self, name: str) -> None:
        self.name = name
        self.param_list: list[Var] | None = None

    # -- what each optimizer says --------------------------------------------------------------

    def _numbers(self) -> int:
        """Return how many numbers the state has behind the number of steps."""
        return 0

    def _moments(self) -> int:
        """Return how many tensors the state has for each parameter."""
        return 0

    def _advance(self, numbers: Sequence[Any]) -> list[Any]:
        """Write the new numbers of the state."""
        return []

    def _step(
        self, param: Any, gradient: Any, moments: Sequence[Any], numbers: Sequence[Any]
    ) -> tuple[Any, list[Any]]:
        """Write the new parameter, and the new tensors of the state that it has."""
        raise NotImplementedError(f"{type(self).__name__}._step")

    # -- use ----------------------------------------------------------------------------------

    def init(self, params: Any) -> Any:
        """Set the parameters, and the state before the first step.

        Parameters
        ----------
        params : Var, or sequence of Var
            Tensors of floats, of static shape and of one data type. Their names differ.

        Returns
        -------
        Optimizer
            Itself.

        Raises
        ------
        ValueError
            If the parameters are anything else.
        """
        given = [params] if isinstance(params, Var) else list(params)
        self.dtype = _common_dtype(given)
        self.param_list = given
        zeros = [np.zeros(_static_shape(param), self.dtype) for param in given]
        numbers = [np.ones((), self.dtype) for _ in range(self._numbers())]
        moments = [zero for _ in range(self._moments()) for zero in zeros]
        self.state = (np.zeros((), "int64"), *numbers, *moments)
        return self

    def get_function(self) -> FreeFunction:
        """Return the function of one step.

        Returns
        -------
        Function
            It takes the parameters, the gradients and the state, each as a tuple, and returns the
            new parameters and the new state.

        Raises
        ------
        RuntimeError
            If `init` has not been called.
        """
        if self.param_list is None:
            raise RuntimeError(f"expected {self.name}.init before {self.name}.get_function")
        types = TupleStructInfo([param.struct_info for param in self.param_list])
        state = [TensorStructInfo(each.shape, each.dtype.name) for each in self.state]
        variables = [
            Var("params", types),
            Var("gradients", types),
            Var("optim_states", TupleStructInfo(state)),
        ]
        bb = BlockBuilder()
        with bb.function(self.name, variables):
            with bb.dataflow():
                params, states = self._write(bb, *variables)
                made = bb.emit_output(op.tuple(*params), "params_new")
                new_state = bb.emit_output(op.tuple(*states), "optim_states_new")
            bb.emit_func_output((made, new_state))
        return FreeFunction(bb.get(), self.name)

    def _write(
        self, bb: BlockBuilder, params: Var, gradients: Var, states: Var
    ) -> tuple[list[Any], list[Any]]:
        assert self.param_list is not None
        count, first = len(self.param_list), 1 + self._numbers()
        steps = bb.emit(op.add(op.get_item(states, 0), const(1, "int64")), "num_steps_new")
        numbers = self._advance([op.get_item(states, 1 + i) for i in range(self._numbers())])
        made, moments = [], []
        for i, variable in enumerate(self.param_list):
            places = [first + i + kind * count for kind in range(self._moments())]
            param, new = self._step(
                op.get_item(params, i),
                op.get_item(gradients, i),
                [op.get_item(states, place) for place in places],
                numbers,
            )
            made.append(bb.emit(param, f"{variable.name}_new"))
            moments.append(new)
        in_order = [new[kind] for kind in range(self._moments()) for new in moments]
        return made, [steps, *numbers, *in_order]


def _common_dtype(params: Sequence[Any]) -> str:
    if not params:
        raise ValueError("expected at least one parameter to optimize")
    names = []
    for param in params:
        if not isinstance(param, Var):
            raise ValueError(f"expected variables as parameters, but got {param!r}")
        type_ = param.struct_info
        if not isinstance(type_, TensorStructInfo) or "float" not in (type_.dtype or ""):
            raise ValueError(f"expected tensors of floats, but '{param.name}' is of type {type_}")
        names.append(param.name)
    if len(set(names)) != len(names):
        raise ValueError(f"expected parameters of different names, but got {', '.join(names)}")
    dtypes = {param.struct_info.dtype: None for param in params}
    if len(dtypes) > 1:
        raise ValueError(
            f"expected parameters of one data type, but got {', '.join(map(str, dtypes))}"
        )
    return str(next(iter(dtypes)))


def _static_shape(param: Var) -> list[int]:
    shape: Any = getattr(param.struct_info, "shape", None)
    sizes = [None] if shape is None else [dim.value for dim in shape]
    known = [size for size in sizes if size is not None]
    if len(known) != len(sizes):
        raise ValueError(
            f"expected parameters of static shape, but '{param.name}' is of type "
            f"{param.struct_info}"
        )
    return known


class SGD(Optimizer):
    """Stochastic gradient descent: ``param - lr * (gradient + weight_decay * param)``.

    Parameters
    ----------
    lr : float
        The learning rate.
    weight_decay : float

    Examples
    --------
    >>> import relax_mlir as relax
    >>> w = relax.Var("w", relax.TensorStructInfo((2, 3), "float32"))
    >>> SGD(0.1).init(w).get_function()
    <Function SGD>
    """

    def __init__(self, lr: float, weight_decay: float = 0) -> None:
        super().__init__("SGD")
        self.lr = _number("lr", lr)
        self.weight_decay = _number("weight_decay", weight_decay)

    def _step(
        self, param: Any, gradient: Any, moments: Sequence[Any], numbers: Sequence[Any]
    ) -> tuple[Any, list[Any]]:
        gradient = _decayed(gradient, param, self.weight_decay)
        return op.subtract(param, op.multiply(gradient, self.lr)), []


def _decayed(gradient: Any, param: Any, weight_decay: float) -> Any:
    return op.add(gradient, op.multiply(param, weight_decay)) if weight_decay else gradient


class MomentumSGD(Optimizer):
    """Stochastic gradient descent with a velocity for each parameter.

    The velocity is ``momentum * velocity + (1 - dampening) * gradient``. The parameter moves
    against it, or with `nesterov` against ``gradient + momentum * velocity``.

    Parameters
    ----------
    lr : float
        The learning rate.
    momentum : float
    dampening : float
    weight_decay : float
    nesterov : bool

    Examples
    --------
    >>> import relax_mlir as relax
    >>> w = relax.Var("w", relax.TensorStructInfo((2, 3), "float32"))
    >>> [each.shape for each in MomentumSGD(0.1, 0.9).init(w).state]
    [(), (2, 3)]
    """

    def __init__(
        self,
        lr: float,
        momentum: float,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
    ) -> None:
        super().__init__("MomentumSGD")
        self.lr = _number("lr", lr)
        self.momentum = _number("momentum", momentum)
        self.dampening = _number("dampening", dampening)
        self.weight_decay = _number("weight_decay", weight_decay)
        self.nesterov = nesterov

    def _moments(self) -> int:
        return 1

    def _step(
        self, param: Any, gradient: Any, moments: Sequence[Any], numbers: Sequence[Any]
    ) -> tuple[Any, list[Any]]:
        gradient = _decayed(gradient, param, self.weight_decay)
        part = op.multiply(gradient, 1 - self.dampening) if self.dampening else gradient
        velocity = op.add(op.multiply(moments[0], self.momentum), part)
        ahead = op.add(gradient, op.multiply(velocity, self.momentum))
        way = ahead if self.nesterov else velocity
        return op.subtract(param, op.multiply(way, self.lr)), [velocity]


class Adam(Optimizer):
    """Adam: the mean of gradients over the root of the mean of their squares.

    Both are moving means with the factors `betas`, corrected for their beginning at 0.

    Parameters
    ----------
    lr : float
        The learning rate.
    betas : (float, float)
    eps : float
        What is added to the root.
    weight_decay : float

    Examples
    --------
    >>> import relax_mlir as relax
    >>> w = relax.Var("w", relax.TensorStructInfo((2, 3), "float32"))
    >>> [each.shape for each in Adam(0.1).init(w).state]
    [(), (), (), (2, 3), (2, 3)]
    """

    def __init__(
        self,
        lr: float,
        betas: Sequence[float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
    ) -> None:
        super().__init__("Adam")
        self.lr = _number("lr", lr)
        if not isinstance(betas, (list, tuple)) or len(betas) != 2:
            raise TypeError(f"expected betas to be two numbers, but got {betas!r}")
        self.beta1, self.beta2 = (_number("betas", beta, below=1) for beta in betas)
        self.eps = _number("eps", eps)
        self.weight_decay = _number("weight_decay", weight_decay)

    def _numbers(self) -> int:
        return 2

    def _moments(self) -> int:
        return 2

    def _advance(self, numbers: Sequence[Any]) -> list[Any]:
        betas = (self.beta1, self.beta2)
        return [op.multiply(each, beta) for each, beta in zip(numbers, betas, strict=True)]

    def _step(
        self, param: Any, gradient: Any, moments: Sequence[Any], numbers: Sequence[Any]
    ) -> tuple[Any, list[Any]]:
        gradient = _decayed(gradient, param, self.weight_decay)
        mean = _moving(moments[0], gradient, self.beta1)
        square = _moving(moments[1], op.square(gradient), self.beta2)
        corrected = [
            op.divide(each, op.subtract(1.0, power))
            for each, power in zip((mean, square), numbers, strict=True)
        ]
        way = op.divide(corrected[0], op.add(op.sqrt(corrected[1]), self.eps))
        return op.subtract(param, op.multiply(way, self.lr)), [mean, square]


def _moving(old: Any, new: Any, beta: float) -> Any:
    return op.add(op.multiply(old, beta), op.multiply(new, 1 - beta))
