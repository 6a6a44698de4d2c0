# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Handwritten digits: classifiers that compiled Relax trains alone, as PyTorch does.

Two networks: the one of digits.py, and one with convolutions. Relax and PyTorch start from the
same numbers and see the same batches. PyTorch is for the comparison only, which is left out
without it.

    python train_digits.py [dense] [convolutional]
"""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import relax_mlir as relax
from mlir import ir
from relax_mlir import op, training
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

EPOCHS, BATCH, MOMENTUM = 12, 32, 0.9

Params = dict[str, np.ndarray]
Step = Callable[[np.ndarray, np.ndarray], object]


@dataclasses.dataclass
class Network:
    """A network: the sizes of its parameters, and what it makes of images and parameters."""

    sizes: dict[str, tuple[int, ...]]
    write: Callable[..., Any]  # with operators of Relax
    run: Callable[..., Any]  # with operators of PyTorch
    rate: float


def write_dense(images: Any, w0: Any, b0: Any, w1: Any, b1: Any) -> Any:
    """Return the logits by operators of Relax."""
    hidden = op.nn.relu(op.add(op.matmul(images, w0), b0))
    return op.add(op.matmul(hidden, w1), b1)


def run_dense(images: Any, w0: Any, b0: Any, w1: Any, b1: Any) -> Any:
    """Return the logits by operators of PyTorch."""
    return (images @ w0 + b0).relu() @ w1 + b1


def write_convolutional(images: Any, w0: Any, b0: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    """Return the logits by operators of Relax."""
    pixels = op.reshape(images, ("n", 1, 8, 8))
    hidden = op.nn.relu(op.add(op.nn.conv2d(pixels, w0, padding=1), b0))
    hidden = op.nn.relu(op.add(op.nn.conv2d(hidden, w1, padding=1, strides=2), b1))
    return op.add(op.matmul(op.reshape(hidden, ("n", 512)), w2), b2)


def run_convolutional(images: Any, w0: Any, b0: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    """Return the logits by operators of PyTorch."""
    from torch.nn import functional

    pixels = images.reshape(-1, 1, 8, 8)
    hidden = (functional.conv2d(pixels, w0, padding=1) + b0).relu()
    hidden = (functional.conv2d(hidden, w1, padding=1, stride=2) + b1).relu()
    return hidden.reshape(-1, 512) @ w2 + b2


NETWORKS = {
    "dense": Network(
        {"w0": (64, 128), "b0": (128,), "w1": (128, 10), "b1": (10,)},
        write_dense,
        run_dense,
        rate=0.1,
    ),
    "convolutional": Network(
        {
            "w0": (16, 1, 3, 3),
            "b0": (16, 1, 1),
            "w1": (32, 16, 3, 3),
            "b1": (32, 1, 1),
            "w2": (512, 10),
            "b2": (10,),
        },
        write_convolutional,
        run_convolutional,
        rate=0.03,
    ),
}


def write(network: Network) -> relax.IRModule:
    """Return a network as a program for n images."""
    bb = relax.BlockBuilder()
    images = relax.Var("images", relax.TensorStructInfo(("n", 64), "float32"))
    params = [
        relax.Var(name, relax.TensorStructInfo(size, "float32"))
        for name, size in network.sizes.items()
    ]
    with bb.function("backbone", [images, *params]):
        with bb.dataflow():
            logits = bb.emit_output(network.write(images, *params), "logits")
        bb.emit_func_output(logits)
    mod = bb.get()
    count = ir.Attribute.parse(f"{len(params)} : i64", mod.context)
    mod.set_attr("param_num", count)
    mod.set_attr("state_num", ir.Attribute.parse("0 : i64", mod.context))
    return mod


def make_trainer(network: Network, params: Params) -> training.Trainer:
    """Return the trainer of a network, compiled."""
    setup = training.SetupTrainer(
        training.loss.CrossEntropyLoss(),
        training.optimizer.MomentumSGD(network.rate, MOMENTUM),
        [
            relax.TensorStructInfo(("n", 10), "float32"),
            relax.TensorStructInfo(("n",), "int64"),
        ],
    )
    mod = setup(write(network))
    trainer = training.Trainer(mod, relax.VirtualMachine(relax.compile(mod)))
    trainer.load_params(params)
    return trainer


def initial_params(network: Network) -> Params:
    """Return random weights, and biases of 0."""
    rng = np.random.default_rng(0)
    params = {}
    for name, size in network.sizes.items():
        inputs = size[0] if len(size) == 2 else np.prod(size[1:])
        scale = 0.0 if name.startswith("b") else (2 / inputs) ** 0.5
        params[name] = (rng.standard_normal(size) * scale).astype("float32")
    return params


def batches(images: np.ndarray, labels: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the batches of all epochs; the last one of each is smaller."""
    rng = np.random.default_rng(1)
    for _ in range(EPOCHS):
        order = rng.permutation(len(images))
        for begin in range(0, len(order), BATCH):
            chosen = order[begin : begin + BATCH]
            yield images[chosen], labels[chosen]


def train(step: Step, images: np.ndarray, labels: np.ndarray) -> float:
    """Do all steps, and return the seconds that they took."""
    start = time.perf_counter()
    for inputs, wanted in batches(images, labels):
        step(inputs, wanted)
    return time.perf_counter() - start


def train_by_torch(
    network: Network, params: Params, images: np.ndarray, labels: np.ndarray, held_out: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return how long PyTorch takes, and what its network takes the digits held out for."""
    import torch
    from torch.nn import functional

    tensors = [torch.tensor(each, requires_grad=True) for each in params.values()]
    optimizer = torch.optim.SGD(tensors, network.rate, MOMENTUM)

    def step(inputs: np.ndarray, wanted: np.ndarray) -> None:
        optimizer.zero_grad()
        logits = network.run(torch.from_numpy(inputs), *tensors)
        functional.cross_entropy(logits, torch.from_numpy(wanted)).backward()
        optimizer.step()

    seconds = train(step, images, labels)
    return seconds, network.run(torch.from_numpy(held_out), *tensors).argmax(1).numpy()


def compare(name: str) -> bool:
    """Train a network, and say whether it is as good as that which PyTorch trains."""
    network = NETWORKS[name]
    data = load_digits()
    images, labels = (data.data / 16).astype("float32"), data.target.astype("int64")
    seen, unseen = train_test_split(np.arange(len(images)), random_state=0, stratify=labels)
    params = initial_params(network)
    print(f"{name}, {sum(each.size for each in params.values())} parameters")

    trainer = make_trainer(network, params)
    seconds = train(trainer.update, images[seen], labels[seen])
    guesses = trainer.predict(images[unseen]).numpy().argmax(axis=1)
    accuracy = (guesses == labels[unseen]).mean()
    print(f"Relax:   {accuracy:.2%} of {len(unseen)} digits, trained in {seconds:.2f} s")
    passed = bool(accuracy > 0.95)
    try:
        seconds, others = train_by_torch(
            network, params, images[seen], labels[seen], images[unseen]
        )
    except ImportError:
        print("PyTorch is not installed: nothing to compare with")
    else:
        theirs = (others == labels[unseen]).mean()
        print(f"PyTorch: {theirs:.2%} of {len(unseen)} digits, trained in {seconds:.2f} s")
        passed = passed and abs(accuracy - theirs) <= 0.005
    return passed


def main() -> int:
    """Train the networks that are named, and return 1 where a bound is missed."""
    unknown = set(sys.argv[1:]) - set(NETWORKS)
    if unknown:
        print(f"expected {' or '.join(NETWORKS)}, but got {' '.join(sorted(unknown))}")
        return 2
    passed = all(map(compare, sys.argv[1:] or NETWORKS))
    print("PASSED" if passed else "FAILED: expected more than 95 %, and as many as PyTorch")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
