"""JAX: the cases written again over the parameters of PyTorch; compiles for each size."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["JAX_PLATFORMS"] = "cpu"
if sys.argv[-1] == "1":  # XLA has as many threads as there are processors to run on
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import cases
import jax
import jax.numpy as jnp
import numpy as np
from cases import Case

from .base import Base

Parameters = dict[str, Any]


def _linear(x: Any, p: Parameters, name: str) -> Any:
    product = x @ p[f"{name}weight"].T
    return product + p[f"{name}bias"] if f"{name}bias" in p else product


def _layer_norm(x: Any, p: Parameters, name: str) -> Any:
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    normal = (x - mean) * jax.lax.rsqrt(variance + 1e-5)
    return normal * p[f"{name}weight"] + p[f"{name}bias"]


def _layer(x: Any, p: Parameters, name: str, heads: int, cache: Any = ()) -> tuple[Any, Any, Any]:
    parts = jnp.split(_linear(_layer_norm(x, p, f"{name}norm1."), p, f"{name}qkv."), 3, -1)
    q, k, v = (t.reshape(*t.shape[:2], heads, -1).swapaxes(1, 2) for t in parts)
    if cache:
        k, v = jnp.concatenate([cache[0], k], 2), jnp.concatenate([cache[1], v], 2)
    scores = jax.nn.softmax(q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5, -1)
    attended = (scores @ v).swapaxes(1, 2).reshape(x.shape)
    x = x + _linear(attended, p, f"{name}out.")
    up = _linear(_layer_norm(x, p, f"{name}norm2."), p, f"{name}up.")
    return x + _linear(jax.nn.gelu(up, approximate=False), p, f"{name}down."), k, v


def _mlp(p: Parameters, x: Any) -> Any:
    x = jax.nn.relu(_linear(x, p, "0."))
    return _linear(jax.nn.relu(_linear(x, p, "2.")), p, "4.")


def _decode(p: Parameters, x: Any, *caches: Any) -> tuple[Any, ...]:
    longer = []
    for i in range(cases.DECODER_LAYERS):
        cache = caches[2 * i : 2 * i + 2]
        x, k, v = _layer(x, p, f"layers.{i}.", cases.DECODER_HEADS, cache)
        longer += [k, v]
    return (_linear(_layer_norm(x, p, "norm."), p, "head."), *longer)


def _conv(x: Any, weight: Any, stride: int, padding: int) -> Any:
    return jax.lax.conv_general_dilated(x, weight, (stride, stride), [(padding, padding)] * 2)


def _batch_norm(x: Any, p: Parameters, name: str) -> Any:
    scale = p[f"{name}weight"] * jax.lax.rsqrt(p[f"{name}running_var"] + 1e-5)
    shift = p[f"{name}bias"] - p[f"{name}running_mean"] * scale
    return x * scale[:, None, None] + shift[:, None, None]


def _resnet18(p: Parameters, x: Any) -> Any:
    x = jax.nn.relu(_batch_norm(_conv(x, p["stem.0.weight"], 2, 3), p, "stem.1."))
    window, padding = (1, 1, 3, 3), [(0, 0), (0, 0), (1, 1), (1, 1)]
    x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, (1, 1, 2, 2), padding)
    for i in range(8):
        name = f"blocks.{i}."
        is_short = f"{name}short.0.weight" not in p
        stride = 1 if is_short else 2
        y = _batch_norm(_conv(x, p[f"{name}conv1.weight"], stride, 1), p, f"{name}norm1.")
        y = _conv(jax.nn.relu(y), p[f"{name}conv2.weight"], 1, 1)
        if not is_short:
            x = _conv(x, p[f"{name}short.0.weight"], stride, 0)
            x = _batch_norm(x, p, f"{name}short.1.")
        x = jax.nn.relu(_batch_norm(y, p, f"{name}norm2.") + x)
    return _linear(x.mean((2, 3)), p, "head.")


def _chain(p: Parameters, x: Any) -> Any:
    return _layer_norm(jax.nn.softmax(x * p["scale"] + p["shift"], -1), p, "norm.")


_MODELS: dict[str, Callable[..., Any]] = {
    "mlp": _mlp,
    "transformer": lambda p, x: _layer(x, p, "", cases.HEADS)[0],
    "decode": _decode,
    "resnet18": _resnet18,
    "chain": _chain,
    "sgemm": lambda p, a, b: a @ b,
    "add": lambda p, a, b: a + b,
    "four": lambda p, a, b: jnp.tanh(jax.nn.relu(a + b) * a),
}


class Peer(Base):
    """See ``worker.py``."""

    def version(self) -> str:
        """Return the version."""
        return f"JAX {jax.__version__}"

    def build(self, case: Case, folder: Path) -> Callable[..., Any]:
        """Compile the model."""
        with np.load(folder / f"{case.name}-parameters.npz") as saved:
            parameters = {name: jnp.asarray(value) for name, value in saved.items()}
        if case.name not in _MODELS and not case.name.startswith("linear_"):
            raise NotImplementedError(f"{case.name} is not written in JAX")
        model = _MODELS.get(case.name, lambda p, x: _linear(x, p, ""))
        jitted = jax.jit(lambda *arguments: model(parameters, *arguments))

        def run(*arguments: Any) -> Any:
            return jax.block_until_ready(jitted(*arguments))

        return run

    def convert(self, array: np.ndarray) -> Any:
        """Return an array of JAX."""
        return jnp.asarray(array)
