# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of object detection of Relay, against NumPy."""

import math

import numpy as np
import pytest
from relay_programs import Known, run_operator, run_operators


def images(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype("float32")


def detections(batch, count, seed=0):
    """Return boxes: class, score, and the corners."""
    rng = np.random.default_rng(seed)
    rows = np.zeros((batch, count, 6), "float32")
    rows[..., 0] = rng.integers(-1, 2, (batch, count))
    rows[..., 1] = rng.permutation(batch * count).reshape(batch, count) / (batch * count) - 0.2
    rows[..., 2:4] = rng.uniform(0, 1, (batch, count, 2))
    rows[..., 4:6] = rows[..., 2:4] + rng.uniform(0.3, 1, (batch, count, 2))
    return rows


def overlap(first, second):
    sides = np.minimum(first[2:], second[2:]) - np.maximum(first[:2], second[:2])
    common = np.prod(np.maximum(sides, 0))
    areas = [np.prod(box[2:] - box[:2]) for box in (first, second)]
    return common / (sum(areas) - common)


def suppressed(rows, count, limit, threshold, top=-1, force=False):
    """Return the boxes in the order of their scores, None for those that are left out."""
    order = sorted(range(count), key=lambda i: -rows[i, 1])
    result, taken = [], 0
    for rank, i in enumerate(order):
        if 0 < top <= rank or taken == limit:
            result.append(None)
            continue
        better = [k for k in result if k is not None and rows[k, 1] > 0 and rows[k, 0] >= 0]
        rivals = [k for k in better if force or rows[k, 0] == rows[i, 0]]
        if rows[i, 1] > 0:
            if any(overlap(rows[k, 2:], rows[i, 2:]) >= threshold for k in rivals):
                result.append(None)
                continue
            taken += 1
        result.append(i)
    return result + [None] * (len(rows) - count)


def test_ry06_valid_counts(exec_mode):
    x = detections(2, 7)
    threshold = np.array(0.1, "float32")
    numbers = (0, -1)
    results = run_operators(
        [("vision.get_valid_counts", {"id_index": number}) for number in numbers], x, threshold,
        shapes=[("b", "n", 6), ()],
    )  # fmt: skip
    for number, (counts, rows, places) in zip(numbers, results, strict=True):
        assert counts.dtype == places.dtype == np.int32
        for i in range(2):
            known = (x[i, :, 1] > threshold) & ((x[i, :, 0] >= 0) | (number < 0))
            chosen = np.flatnonzero(known).tolist()
            assert counts[i] == len(chosen)
            np.testing.assert_array_equal(places[i], chosen + [-1] * (7 - len(chosen)))
            np.testing.assert_array_equal(rows[i, : len(chosen)], x[i, chosen])
            assert (rows[i, len(chosen) :] == -1).all()


# The options, and what is returned.
SUPPRESSIONS = [
    ({}, "indices"), ({"force_suppress": True}, "rows"), ({"top_k": 4}, "top"),
]  # fmt: skip


def test_ry06_suppression(exec_mode):
    x, counts, threshold, limit = detections(2, 8), np.array([8, 5], "int32"), 0.25, 4
    indices = np.arange(16, dtype="int32").reshape(2, 8)[:, ::-1].copy()
    calls = [
        {**options, "return_indices": kind == "indices", "invalid_to_bottom": kind == "top"}
        for options, kind in SUPPRESSIONS
    ]
    results = run_operators(
        [("vision.non_max_suppression", attrs) for attrs in calls], x, counts, indices,
        Known(np.array(limit, "int32")), Known(np.array(threshold, "float32")),
        shapes=[("b", "n", 6), ("b",), ("b", "n")],
    )  # fmt: skip
    for i in range(2):
        for (attrs, kind), result in zip(SUPPRESSIONS, results, strict=True):
            options = {"top": attrs.get("top_k", -1), "force": "force_suppress" in attrs}
            kept = suppressed(x[i], counts[i], limit, threshold, **options)
            check_suppressed(x[i], indices[i], kept, result, i, kind)


def check_suppressed(x, indices, kept, result, i, kind):
    wanted = np.stack([np.full(6, -1) if k is None else x[k] for k in kept])
    if kind == "indices":
        chosen = [k for k in kept if k is not None]
        assert result[1][i, 0] == len(chosen)
        np.testing.assert_array_equal(result[0][i, : len(chosen)], indices[chosen])
        assert (result[0][i, len(chosen) :] == -1).all()
    elif kind == "rows":
        np.testing.assert_array_equal(result[i], wanted)
    else:
        known = wanted[wanted[:, 0] >= 0]
        np.testing.assert_array_equal(result[i, : len(known)], known)
        assert (result[i, len(known) :] == -1).all()


def test_ry06_suppression_without_threshold(exec_mode):
    x, counts = detections(1, 4), np.array([3], "int32")
    numbers = [np.arange(4, dtype="int32")[None], np.array(-1, "int32"), np.array(0, "float32")]
    rows = run_operator("vision.non_max_suppression", x, counts, *numbers, return_indices=False)
    np.testing.assert_array_equal(rows[0, :3], x[0, :3])
    assert (rows[0, 3] == -1).all()


def test_ry06_suppression_of_all_classes(exec_mode):
    boxes = detections(2, 6)[..., 2:]
    scores = np.random.default_rng(1).permutation(36).reshape(2, 3, 6).astype("float32") / 36
    flipped = boxes[..., [2, 1, 0, 3]].copy()
    numbers = [np.array(2, "int64"), np.array(0.3, "float32"), np.array(0.25, "float32")]
    rows, total = run_operator("vision.all_class_non_max_suppression", flipped, scores, *numbers)
    wanted = []
    for i, j in np.ndindex(2, 3):
        kept = []
        for k in np.argsort(-scores[i, j]):
            is_free = all(overlap(boxes[i, k], boxes[i, other]) < 0.3 for other in kept)
            if scores[i, j, k] > 0.25 and len(kept) < 2 and is_free:
                kept.append(k)
        wanted += [(i, j, k) for k in kept]
    assert rows.dtype == total.dtype == np.int64 and rows.shape == (36, 3)
    np.testing.assert_array_equal(total, [len(wanted)])
    np.testing.assert_array_equal(rows[: len(wanted)], wanted)


REGIONS = np.array([[0, 1, 2, 9, 11], [1, -3, 0, 14, 5], [1, 4, 4, 4, 4]], "float32")


def between(image, y, x):
    """Return the value at a place between elements, which outside is that of the border, or 0."""
    height, width = image.shape[1:]
    if not (-1 <= y <= height and -1 <= x <= width):
        return np.zeros(len(image))
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    total = np.zeros(len(image))
    for row, column in np.ndindex(height, width):
        total += max(0, 1 - abs(y - row)) * max(0, 1 - abs(x - column)) * image[:, row, column]
    return total


def test_ry06_roi_align(exec_mode):
    x = images(2, 3, 6, 7)
    wanted = {mode: np.zeros((3, 3, 2, 3)) for mode in ("avg", "max")}
    for r, p, q in np.ndindex(3, 2, 3):
        image, left, top, right, bottom = REGIONS[r] * [1, 0.5, 0.5, 0.5, 0.5]
        high, wide = max(bottom - top, 1) / 2, max(right - left, 1) / 3
        samples = []
        for i, j in np.ndindex(2, 2):
            y, z = top + high * (p + (i + 0.5) / 2), left + wide * (q + (j + 0.5) / 2)
            samples.append(between(x[int(image)], y, z))
        wanted["avg"][r, :, p, q] = np.mean(samples, 0)
        wanted["max"][r, :, p, q] = np.max(samples, 0)
    attrs = {"pooled_size": [2, 3], "spatial_scale": 0.5, "sample_ratio": 2}
    results = run_operators(
        [("vision.roi_align", {**attrs, "mode": mode}) for mode in wanted], x, REGIONS,
        shapes=[("n", 3, "h", "w"), ("r", 5)],
    )  # fmt: skip
    for mode, result in zip(wanted, results, strict=True):
        np.testing.assert_allclose(result, wanted[mode], rtol=1e-4, atol=1e-5)


def test_ry06_roi_pool(exec_mode):
    x = images(2, 3, 6, 7)
    wanted = np.zeros((3, 3, 2, 3), "float32")
    for r, p, q in np.ndindex(3, 2, 3):
        places = REGIONS[r] * [1, 0.5, 0.5, 0.5, 0.5]
        image, left, top, right, bottom = np.sign(places) * np.floor(np.abs(places) + 0.5)
        high, wide = max(bottom - top + 1, 1) / 2, max(right - left + 1, 1) / 3
        rows = np.clip([math.floor(p * high) + top, math.ceil((p + 1) * high) + top], 0, 6)
        columns = np.clip([math.floor(q * wide) + left, math.ceil((q + 1) * wide) + left], 0, 7)
        part = x[int(image)][:, slice(*rows.astype(int)), slice(*columns.astype(int))]
        wanted[r, :, p, q] = part.max((1, 2)) if part.size else 0
    result = run_operator(
        "vision.roi_pool", x.transpose(0, 2, 3, 1).copy(), REGIONS, pooled_size=[2, 3],
        spatial_scale=0.5, layout="NHWC",
    )  # fmt: skip
    np.testing.assert_array_equal(result, wanted.transpose(0, 2, 3, 1))


def test_ry06_multibox_prior(exec_mode):
    sizes, ratios, offsets = [0.6, 0.4], [1.0, 2.0, 0.5], [0.4, 0.5]
    wanted = []
    for i, j in np.ndindex(2, 3):
        for k in range(4):
            ratio = ratios[k - 1] if k > 1 else 1
            size = sizes[k] if k < 2 else sizes[0]
            wide, high = size * 2 / 3 * math.sqrt(ratio) / 2, size / math.sqrt(ratio) / 2
            x, y = (j + offsets[1]) * 0.3, (i + offsets[0]) / 2
            wanted.append([x - wide, y - high, x + wide, y + high])
    result = run_operator(
        "vision.multibox_prior", images(1, 1, 2, 3), sizes=sizes, ratios=ratios, clip=True,
        offsets=offsets, steps=[-1.0, 0.3],
    )  # fmt: skip
    np.testing.assert_allclose(result[0], np.clip(wanted, 0, 1), rtol=1e-6, atol=1e-6)


def located(anchor, move):
    """Return an anchor moved and stretched, inside of the image."""
    low, high = anchor[:2], anchor[2:]
    centre = move[:2] * 0.1 * (high - low) + (low + high) / 2
    reach = np.exp(move[2:] * 0.2) * (high - low) / 2
    return np.clip([*(centre - reach), *(centre + reach)], 0, 1)


def test_ry06_multibox_transform(exec_mode):
    rng = np.random.default_rng(0)
    scores = rng.uniform(0, 1, (2, 3, 4)).astype("float32")
    moves = images(2, 16)
    anchors = rng.uniform(0, 0.5, (1, 4, 4)).astype("float32")
    anchors[..., 2:] += 0.5
    attrs = [{"threshold": 0.6, "keep_background": first == 0} for first in (0, 1)]
    results = run_operators(
        [("vision.multibox_transform_loc", one) for one in attrs], scores, moves, anchors,
        shapes=[("b", 3, 4), ("b", 16), (1, 4, 4)],
    )  # fmt: skip
    for first, (rows, counts) in enumerate(results):
        for i in range(2):
            wanted = []
            for j in range(4):
                found, move = scores[i, first:, j], moves[i].reshape(4, 4)[j]
                if found.max() >= 0.6:
                    wanted.append([found.argmax(), found.max(), *located(anchors[0, j], move)])
            assert counts[i] == len(wanted)
            np.testing.assert_allclose(rows[i, : len(wanted)], wanted, rtol=1e-5, atol=1e-6)
            assert (rows[i, len(wanted) :] == -1).all()


def test_ry06_yolo_reorg(exec_mode):
    x = np.arange(2 * 8 * 4 * 6, dtype="float32").reshape(2, 8, 4, 6)
    # As the original: numbers of a larger image, of which the elements are those of this one.
    flat = x.reshape(2, 2, 4 * 2, 6 * 2)
    wanted = np.zeros_like(x)
    for k, j, i in np.ndindex(8, 4, 6):
        wanted[:, k, j, i] = flat[:, k % 2, j * 2 + k // 2 // 2, i * 2 + k // 2 % 2]
    result = run_operator("vision.yolo_reorg", x, shapes=[("n", 8, 4, 6)], stride=2)
    np.testing.assert_array_equal(result, wanted.reshape(2, 32, 2, 3))


REFUSED = {
    "samples": ("vision.roi_align", [images(1, 1, 4, 4), REGIONS],
                {"pooled_size": [1, 1], "spatial_scale": 1.0}, NotImplementedError,
                "expected sample_ratio of 1 or more, but got -1"),
    "regions": ("vision.roi_pool", [images(1, 1, 4, 4), images(3, 4)],
                {"pooled_size": [1, 1], "spatial_scale": 1.0}, ValueError, "regions of 5 numbers"),
    "format": ("vision.all_class_non_max_suppression",
               [images(1, 4, 4), images(1, 2, 4), *(np.zeros((), "float32"),) * 3],
               {"output_format": "tensorflow"}, NotImplementedError, "output_format 'onnx'"),
    "boxes": ("vision.get_valid_counts", [images(4, 6), np.zeros((), "float32")], {}, ValueError,
              "boxes of rank 3"),
    "stride": ("vision.yolo_reorg", [images(1, 3, 4, 4)], {"stride": 2}, ValueError,
               "channels as a multiple of 4"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_ry06_vision_refused(name):
    operator, values, attrs, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        run_operator(operator, *values, **attrs)
