# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Handwritten digits: a classifier with symbolic batch size, compiled once, run at three sizes.

The data are the 1,797 scanned digits that scikit-learn ships, of 8 by 8 pixels each. scikit-learn
trains a small network on three quarters of them; relax_mlir compiles and runs it, in float32 and
with rounded numbers.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import relax_mlir as relax
from relax_mlir import op
from relax_mlir.quantization import calibrate
from relax_mlir.transform import QuantizeStatic
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

BATCHES = (1, 7, 1797)
SHADES = " .:-=+*#%@"

Layers = Sequence[tuple[np.ndarray, np.ndarray]]


def train(images: np.ndarray, labels: np.ndarray) -> Layers:
    """Return weights and biases of the layers 64-128-10."""
    model = MLPClassifier((128,), activation="relu", tol=2e-3, random_state=0)
    model.fit(images, labels)
    return [
        (weights.astype("float32"), biases.astype("float32"))
        for weights, biases in zip(model.coefs_, model.intercepts_, strict=True)
    ]


def write(layers: Layers) -> relax.BlockBuilder:
    """Return the network as a program for n images."""
    bb = relax.BlockBuilder()
    x = relax.Var("images", relax.TensorStructInfo(("n", 64), "float32"))
    (w0, b0), (w1, b1) = layers
    with bb.function("main", [x]):
        with bb.dataflow():
            hidden = bb.emit(op.nn.relu(op.add(op.matmul(x, w0), b0)), "hidden")
            logits = bb.emit(op.add(op.matmul(hidden, w1), b1), "logits")
            probabilities = bb.emit_output(op.nn.softmax(logits), "probabilities")
        bb.emit_func_output(probabilities)
    return bb


def reference(layers: Layers, images: np.ndarray) -> np.ndarray:
    """Return what the program computes, by NumPy."""
    (w0, b0), (w1, b1) = layers
    logits = np.maximum(images @ w0 + b0, 0) @ w1 + b1
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def rounded_accuracies(
    program: relax.BlockBuilder, images: np.ndarray, labels: np.ndarray, samples: np.ndarray
) -> dict[str, float]:
    """Return the accuracy by how numbers are rounded; `samples` are images to calibrate with."""
    module = program.get()
    static = QuantizeStatic(calibrate(module, [[samples]]))(module)
    programs = {
        "float32": relax.compile(module),
        "bfloat16": relax.compile(module, precision="bf16"),
        "weights of 8 bits": relax.compile(module, weights="int8"),
        "weights and inputs of 8 bits": relax.compile(static),
        "weights of 4 bits, groups of 32": relax.compile(module, weights="int4-g32"),
    }
    accuracies = {}
    for name, executable in programs.items():
        guesses = relax.VirtualMachine(executable)["main"](images).numpy().argmax(axis=1)
        accuracies[name] = float((guesses == labels).mean())
    return accuracies


def picture(image: np.ndarray) -> str:
    """Return an image as characters, two for each pixel."""
    levels = (image * (len(SHADES) - 1)).round().astype(int)
    return "\n".join("  " + "".join(2 * SHADES[level] for level in row) for row in levels)


def seconds_per_call(function: object, images: np.ndarray) -> float:
    """Return the best time of a call, of at least 20 calls and 0.2 seconds."""
    best, start = float("inf"), time.perf_counter()
    calls = 0
    while calls < 20 or time.perf_counter() - start < 0.2:
        before = time.perf_counter()
        function(images)  # type: ignore[operator]
        best = min(best, time.perf_counter() - before)
        calls += 1
    return best


def main(dump: Path | None) -> int:
    """Train, compile, run, and compare; return 1 where a bound is missed."""
    data = load_digits()
    images = (data.data / 16).astype("float32")
    held_out = np.zeros(len(images), bool)
    held_out[train_test_split(np.arange(len(images)), random_state=0, stratify=data.target)[1]] = 1
    layers = train(images[~held_out], data.target[~held_out])

    program = write(layers)
    print("The program:\n")
    print(program.get().operation.get_asm(large_elements_limit=8, use_name_loc_as_prefix=True))
    print("The phases of its compilation:\n")
    for name, meaning in relax.phases():
        print(f"  {name:10} {meaning}")
    start = time.perf_counter()
    executable = relax.compile(program, target="llvm", dump_phases=dump)
    print(f"\nCompiled once, in {time.perf_counter() - start:.2f} s.\n")
    if dump is not None:
        print(f"The module after each phase is in {dump}/.\n")

    classify = relax.VirtualMachine(executable)["main"]
    difference = 0.0
    print("   batch     time per call    NumPy's time    largest difference")
    for batch in BATCHES:
        inputs = images[:batch]
        error = abs(classify(inputs).numpy() - reference(layers, inputs)).max()
        difference = max(difference, float(error))
        ours = seconds_per_call(classify, inputs)
        numpys = seconds_per_call(lambda inputs=inputs: reference(layers, inputs), inputs)
        print(f"  {batch:6} {1e6 * ours:14.1f} us {1e6 * numpys:12.1f} us {error:17.1e}")

    guesses = classify(images).numpy().argmax(axis=1)
    accuracy = (guesses == data.target)[held_out].mean()
    print(f"\nAccuracy on the {held_out.sum()} digits not trained on: {accuracy:.2%}\n")
    for index in np.flatnonzero(held_out & (guesses != data.target))[:2]:
        print(f"Digit {index} is a {data.target[index]}, taken for a {guesses[index]}:\n")
        print(picture(images[index].reshape(8, 8)), end="\n\n")

    print("Accuracy with rounded numbers:\n")
    samples = images[~held_out][:200]
    rounded = rounded_accuracies(program, images[held_out], data.target[held_out], samples)
    for name, share in rounded.items():
        print(f"  {name:32} {share:.2%}")

    passed = accuracy > 0.95 and difference < 1e-4 and min(rounded.values()) > accuracy - 0.01
    bounds = "accuracy > 95 %, a difference < 1e-4, and rounding to cost less than 1 %"
    print("\nPASSED" if passed else f"\nFAILED: expected {bounds}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else None))
