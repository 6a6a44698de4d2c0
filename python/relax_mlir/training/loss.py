# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses: functions of what a model predicts and of what is wanted."""

from __future__ import annotations

from typing import Any

from mlir import ir

from .. import op
from ..builder.block_builder import BlockBuilder
from ..core.expr import Var
from ..core.ir_module import FreeFunction

REDUCTIONS = ("mean", "sum", "none")


class Loss:
    """A loss, which makes a Relax function for the types of its arguments.

    Parameters
    ----------
    loss_name : str
        The name of the function.
    num_backbone_outputs : int
        How many of its first arguments are results of the model.
    reduction : {"mean", "sum", "none"}
        What becomes of the losses of the elements or instances.

    Raises
    ------
    ValueError
        If there is no such reduction.
    """

    def __init__(self, loss_name: str, num_backbone_outputs: int, reduction: str = "mean") -> None:
        if reduction not in REDUCTIONS:
            raise ValueError(
                f"expected a reduction ({', '.join(REDUCTIONS)}), but got {reduction!r}"
            )
        self._loss_name = loss_name
        self._num_backbone_outputs = num_backbone_outputs
        self._reduction = reduction

    @property
    def num_backbone_outputs(self) -> int:
        """How many of the first arguments are results of the model."""
        return self._num_backbone_outputs

    def _reduced(self, losses: Any) -> Any:
        """Return losses as the reduction wants them."""
        reductions = {"mean": op.mean, "sum": op.sum, "none": lambda each: each}
        return reductions[self._reduction](losses)

    def _function(self, write: Any, *params: tuple[str, Any]) -> FreeFunction:
        """Return the function of some parameters, each of a name and a variable or type."""
        variables = [_parameter(name, given) for name, given in params if given is not None]
        bb = BlockBuilder()
        with bb.function(self._loss_name, variables):
            with bb.dataflow():
                loss = bb.emit_output(write(*variables), "loss")
            bb.emit_func_output(loss)
        return FreeFunction(bb.get(), self._loss_name)


def _parameter(name: str, given: Any) -> Var:
    if isinstance(given, Var):
        return Var(given.name, given.struct_info)
    if isinstance(given, ir.Type):
        return Var(name, given)
    raise TypeError(f"expected a variable or a type as {name}, but got {given!r}")


class _Difference(Loss):
    """A measure of the difference of predictions and targets, element by element."""

    def _measured(self, difference: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._measured")

    def __call__(self, predictions: Any, targets: Any) -> FreeFunction:
        """Return the loss as a function.

        Parameters
        ----------
        predictions, targets : Var or StructInfo
            Tensors of the same shape and data type.

        Returns
        -------
        Function
        """

        def write(x: Any, y: Any) -> Any:
            return self._reduced(self._measured(op.subtract(x, y)))

        return self._function(write, ("predictions", predictions), ("targets", targets))


class L1Loss(_Difference):
    """The absolute difference of predictions and targets, element by element.

    Parameters
    ----------
    reduction : {"mean", "sum", "none"}

    Examples
    --------
    >>> import relax_mlir as relax
    >>> pair = relax.TensorStructInfo(("n", 2), "float32")
    >>> print(L1Loss("sum")(pair, pair).struct_info.ret)
    !relax.tensor<[], f32>
    """

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__("l1_loss", 1, reduction)

    def _measured(self, difference: Any) -> Any:
        return op.abs(difference)


class MSELoss(_Difference):
    """The square of the difference of predictions and targets, element by element.

    Parameters
    ----------
    reduction : {"mean", "sum", "none"}

    Examples
    --------
    >>> import relax_mlir as relax
    >>> pair = relax.TensorStructInfo(("n", 2), "float32")
    >>> print(MSELoss("none")(pair, pair).struct_info.ret)
    !relax.tensor<[n, 2], f32>
    """

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__("mse_loss", 1, reduction)

    def _measured(self, difference: Any) -> Any:
        return op.square(difference)


class CrossEntropyLoss(Loss):
    """The negative logarithm of the probability that a prediction gives to the class of a target.

    Parameters
    ----------
    reduction : {"mean", "sum", "none"}
        The mean is by the weights of the classes, of targets that are not ignored, as in PyTorch.
    ignore_index : int
        Targets of this class do not count.

    Examples
    --------
    >>> import relax_mlir as relax
    >>> logits = relax.TensorStructInfo(("n", 10), "float32")
    >>> labels = relax.TensorStructInfo(("n",), "int64")
    >>> print(CrossEntropyLoss()(logits, labels).struct_info.ret)
    !relax.tensor<[], f32>
    """

    def __init__(self, reduction: str = "mean", ignore_index: int = -100) -> None:
        super().__init__("cross_entropy_loss", 1, reduction)
        self.ignore_index = ignore_index

    def __call__(self, predictions: Any, targets: Any, weights: Any = None) -> FreeFunction:
        """Return the loss as a function.

        Parameters
        ----------
        predictions : Var or StructInfo
            Logits, of the dimensions batch, class, and any others.
        targets : Var or StructInfo
            Integers, of the same dimensions without that of the classes.
        weights : Var or StructInfo, optional
            A number for each class.

        Returns
        -------
        Function

        Raises
        ------
        ValueError
            If the targets are no integers.
        """

        def write(x: Any, labels: Any, weight: Any = None) -> Any:
            axis = _class_axis(x)
            logs = op.nn.log_softmax(x, axis)
            return _nll(self, logs, labels, weight, axis)

        params = (("predictions", predictions), ("targets", targets), ("weights", weights))
        return self._function(write, *params)


def _class_axis(logits: Any) -> int:
    axis: int = min(1, _tensor(logits).type.ndim - 1)
    return axis


def _tensor(value: Any) -> Any:
    return value.value if isinstance(value, Var) else value


def _nll(loss: Any, logs: Any, labels: Any, weight: Any, axis: int) -> Any:
    """Return the negative logarithms of the probabilities of labels, reduced."""
    dtype, given = logs.type.dtype, _tensor(labels).type
    if given.dtype is not None and not given.dtype.startswith(("int", "uint")):
        raise ValueError(f"expected targets of an integer data type, but got {given}")
    counts = op.not_equal(labels, loss.ignore_index)
    # Any class stands for one that is ignored: its weight is 0.
    known = op.where(counts, labels, op.zeros_like(labels))
    at = op.expand_dims(known, axis)
    picked = op.squeeze(op.gather_elements(logs, at, axis), [axis])
    share = op.astype(counts, dtype)
    if weight is not None:
        share = op.multiply(share, _weights_of(known, weight))
    losses = op.negative(op.multiply(picked, share))
    if loss._reduction == "mean":
        return op.divide(op.sum(losses), op.sum(share))
    return loss._reduced(losses)


def _weights_of(labels: Any, weight: Any) -> Any:
    return op.take(weight, labels, 0)


class CategoricalCrossEntropyLoss(Loss):
    """The loss of `CrossEntropyLoss` for targets that have a number for each class.

    Parameters
    ----------
    reduction : {"mean", "sum", "none"}
        The mean is over all elements, unless a class is ignored.
    ignore_index : int
        A class whose targets do not count, from 0 on; by default there is none.

    Examples
    --------
    >>> import relax_mlir as relax
    >>> logits = relax.TensorStructInfo(("n", 10), "float32")
    >>> hot = relax.TensorStructInfo(("n", 10), "int64")
    >>> print(CategoricalCrossEntropyLoss()(logits, hot).struct_info.ret)
    !relax.tensor<[], f32>
    """

    def __init__(self, reduction: str = "mean", ignore_index: int = -100) -> None:
        super().__init__("categorical_cross_entropy_loss", 1, reduction)
        self.ignore_index = ignore_index

    def __call__(self, predictions: Any, targets: Any, weights: Any = None) -> FreeFunction:
        """Return the loss as a function.

        Parameters
        ----------
        predictions : Var or StructInfo
            Logits, of the dimensions batch and class.
        targets : Var or StructInfo
            Integers of the same shape: 1 for the class of an instance, else 0.
        weights : Var or StructInfo, optional
            A number for each class.

        Returns
        -------
        Function

        Raises
        ------
        TypeError
            If the targets are not integers.
        """
        type_ = targets.struct_info if isinstance(targets, Var) else targets
        if "int" not in (getattr(type_, "dtype", None) or ""):
            raise TypeError(f"expected targets of integers, but got {type_}")

        def write(x: Any, hot: Any, weight: Any = None) -> Any:
            logs = op.nn.log_softmax(x)
            if self.ignore_index >= 0:
                return _nll(self, logs, op.argmax(hot, 1), weight, 1)
            losses = op.multiply(op.negative(logs), op.astype(hot, logs.type.dtype))
            if weight is not None:
                losses = op.multiply(losses, weight)
            return self._reduced(losses)

        params = (("predictions", predictions), ("targets", targets), ("weights", weights))
        return self._function(write, *params)
