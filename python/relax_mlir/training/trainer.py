# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running a module that `SetupTrainer` has made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tvm_ffi

from ..core.ir_module import IRModule
from ..transform.signatures import param_names, params_of
from . import setup_trainer as names


class Trainer:
    """Keeps the parameters of a model and trains them.

    Parameters
    ----------
    train_mod : IRModule
        What `SetupTrainer` has made.
    vm : relax_mlir.VirtualMachine
        With the compiled module.
    device : tvm_ffi.Device, optional
        That of the tensors: host memory.
    zero_init_param_state : bool
        Whether parameters and states are 0 at first, which wants static shapes. Otherwise they
        have to be loaded.

    Raises
    ------
    ValueError
        If the module is none that trains, or the device is another one.

    Examples
    --------
    >>> import numpy as np
    >>> import relax_mlir as relax
    >>> from mlir import ir
    >>> from relax_mlir.training import SetupTrainer, Trainer, loss, optimizer
    >>> bb = relax.BlockBuilder()
    >>> x = relax.Var("x", relax.TensorStructInfo(("n", 1), "float32"))
    >>> w = relax.Var("w", relax.TensorStructInfo((1, 1), "float32"))
    >>> with bb.function("backbone", [x, w]):
    ...     _ = bb.emit_func_output(relax.op.matmul(x, w))
    >>> mod = bb.get()
    >>> for name, number in {"param_num": 1, "state_num": 0}.items():
    ...     mod.set_attr(name, ir.Attribute.parse(f"{number} : i64", mod.context))
    >>> pair = relax.TensorStructInfo(("n", 1), "float32")
    >>> mod = SetupTrainer(loss.MSELoss(), optimizer.SGD(0.1), [pair, pair])(mod)
    >>> trainer = Trainer(mod, relax.VirtualMachine(relax.compile(mod)))
    >>> inputs = np.array([[1], [2]], "float32")
    >>> for _ in range(20):
    ...     _ = trainer.update(inputs, 3 * inputs)
    >>> print(trainer.predict(inputs).numpy().ravel().round(2))
    [3. 6.]
    """

    BACKBONE_FUNC = names.BACKBONE_FUNC
    BACKBONE_LOSS_FUNC = names.BACKBONE_LOSS_FUNC
    ADJOINT_FUNC = names.ADJOINT_FUNC
    OPTIMIZER_FUNC = names.OPTIMIZER_FUNC

    def __init__(
        self, train_mod: IRModule, vm: Any, device: Any = None, zero_init_param_state: bool = True
    ) -> None:
        if device is not None and tvm_ffi.device(device).type != "cpu":
            raise ValueError(f"expected host memory as device, but got {device}")
        attributes = train_mod.attrs
        missing = [
            key
            for key in ("input_num", "param_num", "state_num", "optim_state")
            if key not in attributes
        ]
        if missing:
            raise ValueError(
                f"expected a module that SetupTrainer has made, but it has no {', '.join(missing)}"
            )
        self.vm = vm
        self._input_num, param_num, state_num = (
            int(attributes[key].value) for key in ("input_num", "param_num", "state_num")
        )
        self._optim_state: Any = tuple(np.array(each) for each in attributes["optim_state"])
        function = train_mod[self.BACKBONE_FUNC].operation
        types = [each.type for each in params_of(function)]
        kept = list(zip(param_names(function), types, strict=True))[self._input_num :]
        self._params = _Tensors("parameter", kept[:param_num])
        self._states = _Tensors("state", kept[param_num : param_num + state_num])
        if zero_init_param_state:
            self.zero_init_params()
            self.zero_init_states()

    # -- parameters and states ----------------------------------------------------------------

    def xaiver_uniform_init_params(self, seed: int | None = None) -> None:
        """Set parameters to uniform random numbers, the larger the fewer they are (Glorot).

        Parameters
        ----------
        seed : int, optional
            By default each call gives other numbers.
        """
        rng = np.random.default_rng(seed)

        def numbers(shape: Sequence[int]) -> Any:
            bound = np.sqrt(6 / max(sum(shape), 1))
            return rng.uniform(-bound, bound, shape)

        self._params.fill(numbers)

    xavier_uniform_init_params = xaiver_uniform_init_params

    def zero_init_params(self) -> None:
        """Set all parameters to 0."""
        self._params.fill(np.zeros)

    def zero_init_states(self) -> None:
        """Set all states to 0."""
        self._states.fill(np.zeros)

    def load_params(self, params: Any) -> None:
        """Set parameters.

        Parameters
        ----------
        params : sequence of array, or mapping of str to array
            All parameters, or some by their names.

        Raises
        ------
        ValueError
            If there is no such parameter, or it has another shape or data type.
        """
        self._params.load(params)

    def load_states(self, states: Any) -> None:
        """Set states, as `load_params` does parameters."""
        self._states.load(states)

    def export_params(self) -> dict[str, Any]:
        """Return the parameters by their names."""
        return self._params.by_name()

    def export_states(self) -> dict[str, Any]:
        """Return the states by their names."""
        return self._states.by_name()

    # -- running ------------------------------------------------------------------------------

    def predict(self, *input_instances: Any) -> Any:
        """Return what the model predicts.

        Parameters
        ----------
        *input_instances : array

        Returns
        -------
        Tensor, or a tuple of several
        """
        self._check_inputs(input_instances)
        values = [*self._params.checked(), *self._states.checked()]
        result = self.vm[self.BACKBONE_FUNC](*input_instances, *values)
        if not self._states.values:
            return result
        predictions = tuple(result)[: -len(self._states.values)]
        return predictions[0] if len(predictions) == 1 else predictions

    def update(self, input_instances: Any, targets: Any) -> Any:
        """Do one step of the optimizer.

        Parameters
        ----------
        input_instances, targets : array, or list of array

        Returns
        -------
        Tensor
            The loss before the step.
        """
        inputs = input_instances if isinstance(input_instances, list) else [input_instances]
        wanted = targets if isinstance(targets, list) else [targets]
        self._check_inputs(inputs)
        params, states = self._params.checked(), self._states.checked()
        loss, gradients = self.vm[self.ADJOINT_FUNC](*inputs, *params, *states, *wanted)
        if states:
            loss, *self._states.values = loss
        made, self._optim_state = self.vm[self.OPTIMIZER_FUNC](
            tuple(params), gradients, self._optim_state
        )
        self._params.values = list(made)
        return loss

    def _check_inputs(self, inputs: Sequence[Any]) -> None:
        if len(inputs) != self._input_num:
            raise ValueError(f"expected {self._input_num} inputs, but got {len(inputs)}")


class _Tensors:
    """Tensors that a trainer keeps, each with a name and a type."""

    def __init__(self, kind: str, params: Sequence[tuple[str, Any]]) -> None:
        self._kind = kind
        self._types = dict(params)
        self.values: list[Any] = [None] * len(params)

    def fill(self, numbers: Any) -> None:
        """Set all to what a function gives for their shapes."""
        made = []
        for name, type_ in self._types.items():
            shape = [None] if type_.shape is None else [dim.value for dim in type_.shape]
            if None in shape:
                raise ValueError(
                    f"expected a static shape of the {self._kind} '{name}', but it is of type "
                    f"{type_}: load it"
                )
            made.append(np.asarray(numbers(shape)).astype(type_.dtype))
        self.values = made

    def load(self, given: Any) -> None:
        """Set all by their order, or some by their names."""
        names = list(self._types)
        if not isinstance(given, Mapping):
            if len(given) != len(names):
                raise ValueError(f"expected {len(names)} {self._kind}s, but got {len(given)}")
            given = dict(zip(names, given, strict=True))
        for name, value in given.items():
            if name not in self._types:
                raise ValueError(
                    f"expected the name of a {self._kind} ({', '.join(names)}), but got {name!r}"
                )
            self.values[names.index(name)] = self._fitting(name, value)

    def _fitting(self, name: str, value: Any) -> Any:
        array = value if isinstance(value, np.ndarray) else np.from_dlpack(value)
        type_ = self._types[name]
        shape = None if type_.shape is None else [dim.value for dim in type_.shape]
        fits = shape is None or (
            len(shape) == array.ndim
            and all(dim in (None, size) for dim, size in zip(shape, array.shape, strict=True))
        )
        if not fits or array.dtype.name != type_.dtype:
            raise ValueError(
                f"expected the {self._kind} '{name}' of type {type_}, but got {array.dtype.name} "
                f"of shape {array.shape}"
            )
        return np.array(array)

    def checked(self) -> list[Any]:
        """Return all, once they are set."""
        for name, value in zip(self._types, self.values, strict=True):
            if value is None:
                raise RuntimeError(
                    f"expected the {self._kind} '{name}' to be set: load it, or initialize all"
                )
        return self.values

    def by_name(self) -> dict[str, Any]:
        """Return all by their names."""
        return dict(zip(self._types, self.values, strict=True))
