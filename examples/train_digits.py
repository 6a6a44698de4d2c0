# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Handwritten digits: a classifier that compiled Relax trains alone, as PyTorch does.

The network, 64-128-10, and the data are those of digits.py. Both start from the same numbers and
see the same batches. PyTorch is used for the comparison only; without it, there is none.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator

import numpy as np
import relax_mlir as relax
from mlir import ir
from relax_mlir import op, training
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

EPOCHS, BATCH, RATE, MOMENTUM = 12, 32, 0.1, 0.9
SIZES = {"w0": (64, 128), "b0": (128,), "w1": (128, 10), "b1": (10,)}

Params = dict[str, np.ndarray]
Step = Callable[[np.ndarray, np.ndarray], object]


def write() -> relax.IRModule:
    """Return the network as a program for n images."""
    bb = relax.BlockBuilder()
    x = relax.Var("images", relax.TensorStructInfo(("n", 64), "float32"))
    params = [
        relax.Var(name, relax.TensorStructInfo(size, "float32")) for name, size in SIZES.items()
    ]
    w0, b0, w1, b1 = params
    with bb.function("backbone", [x, *params]):
        with bb.dataflow():
            hidden = bb.emit(op.nn.relu(op.add(op.matmul(x, w0), b0)), "hidden")
            logits = bb.emit_output(op.add(op.matmul(hidden, w1), b1), "logits")
        bb.emit_func_output(logits)
    mod = bb.get()
    mod.set_attr("param_num", ir.Attribute.parse(f"{len(SIZES)} : i64", mod.context))
    mod.set_attr("state_num", ir.Attribute.parse("0 : i64", mod.context))
    return mod


def make_trainer(params: Params) -> training.Trainer:
    """Return the trainer of the network, compiled."""
    setup = training.SetupTrainer(
        training.loss.CrossEntropyLoss(),
        training.optimizer.MomentumSGD(RATE, MOMENTUM),
        [
            relax.TensorStructInfo(("n", 10), "float32"),
            relax.TensorStructInfo(("n",), "int64"),
        ],
    )
    mod = setup(write())
    trainer = training.Trainer(mod, relax.VirtualMachine(relax.compile(mod)))
    trainer.load_params(params)
    return trainer


def initial_params() -> Params:
    """Return random weights, and biases of 0."""
    rng = np.random.default_rng(0)
    return {
        name: (rng.standard_normal(size) * (len(size) - 1) * (2 / size[0]) ** 0.5).astype("float32")
        for name, size in SIZES.items()
    }


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
    params: Params, images: np.ndarray, labels: np.ndarray, held_out: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return how long PyTorch takes, and what its network takes the digits held out for."""
    import torch
    from torch.nn import functional

    w0, b0, w1, b1 = (torch.tensor(each, requires_grad=True) for each in params.values())
    optimizer = torch.optim.SGD([w0, b0, w1, b1], RATE, MOMENTUM)

    def predict(inputs: np.ndarray) -> torch.Tensor:
        return torch.relu(torch.from_numpy(inputs) @ w0 + b0) @ w1 + b1

    def step(inputs: np.ndarray, wanted: np.ndarray) -> None:
        optimizer.zero_grad()
        functional.cross_entropy(predict(inputs), torch.from_numpy(wanted)).backward()
        optimizer.step()

    seconds = train(step, images, labels)
    return seconds, predict(held_out).argmax(1).numpy()


def main() -> int:
    """Train, compare, and return 1 where a bound is missed."""
    data = load_digits()
    images, labels = (data.data / 16).astype("float32"), data.target.astype("int64")
    seen, unseen = train_test_split(np.arange(len(images)), random_state=0, stratify=labels)
    params = initial_params()

    trainer = make_trainer(params)
    seconds = train(trainer.update, images[seen], labels[seen])
    guesses = trainer.predict(images[unseen]).numpy().argmax(axis=1)
    accuracy = (guesses == labels[unseen]).mean()
    print(f"Relax:   {accuracy:.2%} of {len(unseen)} digits, trained in {seconds:.2f} s")
    passed = accuracy > 0.95
    try:
        seconds, others = train_by_torch(params, images[seen], labels[seen], images[unseen])
    except ImportError:
        print("PyTorch is not installed: nothing to compare with")
    else:
        theirs = (others == labels[unseen]).mean()
        print(f"PyTorch: {theirs:.2%} of {len(unseen)} digits, trained in {seconds:.2f} s")
        passed = passed and abs(accuracy - theirs) <= 0.005
    print("PASSED" if passed else "FAILED: expected more than 95 %, and as many as PyTorch")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
