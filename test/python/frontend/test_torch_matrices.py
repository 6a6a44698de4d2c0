# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of ATen, attention and linear algebra give what PyTorch gives."""

from __future__ import annotations

import pytest
import relax_mlir
import torch
from relax_mlir.frontend.torch import from_exported_program
from torch import nn
from torch.nn import functional as F  # noqa: N812 (the name PyTorch uses)
from torch_functions import (
    Family,
    Functions,
    check_every_size,
    check_known_size,
    compare,
    export,
    flat,
    load,
    mask,
    random,
)


def products() -> Functions:
    return {
        "einsum": lambda x: [
            torch.einsum("bij,bkj->bik", x, x), torch.einsum("bij->bji", x),
            torch.einsum("bii->bi", x[:, :, :4]), torch.einsum("bij,cij->bc", x, x),
        ],
        "sums": lambda x: [
            torch.baddbmm(x[:, :, :4], x, x.mT, beta=0.5, alpha=2), torch.addr(x[0], x[0, :, 0],
            x[0, 0]), torch.addmv(x[0, :, 0], x[0], x[0, 0]), torch.outer(x[:, 0, 0], x[0, 0]),
            torch.addmm(x[0, :, :1], x[0], x[0].t(), beta=0), torch.addbmm(x[0, :, :4], x, x.mT),
        ],
        "vectors": lambda x: [torch.mv(x[0], x[0, 0]), torch.dot(x[0, 0], x[0, 1]), x @ x[0, 0]],
        "linear": lambda x: [F.linear(x, random(3, 5)), F.linear(x[0, 0], random(3, 5), random(3)),
                             F.bilinear(x, x, random(2, 5, 5), random(2))],
        "cdist": lambda x: [torch.cdist(x, x + 1), torch.cdist(x[0], x[1], p=1)],
        "pdist": lambda x: [F.pdist(x[0], p) for p in (2.0, 1.0, 0.0, 3.0, float("inf"))],
        "cross": lambda x: torch.linalg.cross(x[..., :3], x[..., 1:4]),
        "integers": lambda x: (x * 8).int() @ (x * 8).int().mT,
    }  # fmt: skip


def attentions() -> Functions:
    attend = F.scaled_dot_product_attention
    return {
        "plain": lambda q, k, m: attend(q, k, k),
        "float_mask": lambda q, k, m: attend(q, k, k, m.float() * -3.0),
        "mask": lambda q, k, m: attend(q, k, k, m),
        "unseen": lambda q, k, m: attend(q, k, k, m & (torch.arange(5) != 2).unsqueeze(1)),
        "causal": lambda q, k, m: attend(q, k, k, is_causal=True),
        "rank_3": lambda q, k, m: attend(q[:, 0], k[:, 0], k[:, 0], is_causal=True, scale=0.3),
        "grouped": lambda q, k, m: attend(q, k[:, :2], k[:, :2], enable_gqa=True),
        "grouped_mask": lambda q, k, m: attend(q, k[:, :2], k[:, :2], m, enable_gqa=True),
    }


def matrices() -> Functions:
    """Of matrices with an inverse, one of which has exchanged rows."""

    def positive(x: torch.Tensor) -> torch.Tensor:
        return x @ x.mT + torch.eye(4)

    def lower(x: torch.Tensor) -> torch.Tensor:
        return torch.tril(x) + torch.eye(4)

    linalg = torch.linalg
    return {
        "inverse": lambda x, b: [x.inverse(), linalg.inv(x + torch.eye(4))],
        "determinant": lambda x, b: [linalg.det(x), *linalg.slogdet(x), x.logdet().exp()],
        "solve": lambda x, b: [linalg.solve(x, b),
                               linalg.solve(x, b.mT, left=False)],
        "cholesky": lambda x, b: [linalg.cholesky(positive(x)),
                                  linalg.cholesky(positive(x), upper=True),
                                  torch.cholesky_solve(b, lower(x)),
                                  torch.cholesky_inverse(lower(x))],
        "triangular": lambda x, b: [
            linalg.solve_triangular(lower(x), b, upper=False),
            linalg.solve_triangular(lower(x).mT, b, upper=True),
            linalg.solve_triangular(lower(x), b.mT, upper=False, left=False),
            linalg.solve_triangular(x, b, upper=True, unitriangular=True),
            torch.triangular_solve(b, lower(x), upper=False, transpose=True)[0],
        ],
        "factors": lambda x, b: [*linalg.lu_factor(x), linalg.lu_solve(*linalg.lu_factor(x), b)],
    }  # fmt: skip


FAMILIES: dict[str, Family] = {
    "products": Family(lambda n: (random(n, 4, 5),), products()),
    "attentions": Family(
        lambda n: (random(n, 4, 5, 8), random(n, 4, 6, 8), mask(n, 1, 5, 6)), attentions(),
        dynamic=(True, True, True),
    ),
    "matrices": Family(
        lambda n: (random(n, 4, 4) - 0.6, random(n, 4, 2)), matrices(),
        {"vectors": lambda x, b: [torch.linalg.solve(x, b[..., 0]), torch.linalg.solve(x, b[0])]},
        dynamic=(True, True),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAMILIES)
def test_functions_at_every_size(name: str) -> None:
    check_every_size(FAMILIES[name])


@pytest.mark.parametrize("name", FAMILIES)
def test_functions_of_a_known_size(name: str) -> None:
    check_known_size(FAMILIES[name])


SPARSE = torch.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.5, 0.0, 3.0]])
TWICE = torch.sparse_coo_tensor(
    torch.tensor([[0, 1, 1], [0, 2, 2]]), torch.ones(3), (3, 4), check_invariants=True
)


def test_sparse_tensors(exec_mode: str) -> None:
    # PyTorch exports none of these with dynamic sizes.
    constant = SPARSE.to_sparse()
    functions: Functions = {
        "constants": lambda x: [
            torch.sparse.mm(constant, x.t()[:3]), TWICE @ x.t(),
            torch.sparse.addmm(x.t(), constant, x.t()[:3], beta=0.5, alpha=2.0),
        ],
        "products": lambda x: [
            torch.sparse.mm(x.to_sparse(), SPARSE), x.to_sparse() @ SPARSE,
            x.to_sparse_csr() @ SPARSE,
            torch.sparse.addmm(torch.ones(3), x.to_sparse(), SPARSE, beta=0.5, alpha=2.0),
        ],
        "dense": lambda x: [
            x.to_sparse().to_dense(), (x.to_sparse() * x).to_dense(), x.to_sparse().t().to_dense(),
            x + x.to_sparse(), x.to_sparse().sum(), x.to_sparse().coalesce().to_dense(),
        ],
    }  # fmt: skip
    x = random(5, 4) * mask(5, 4)
    mod = from_exported_program(export(functions, (x,)))
    main = relax_mlir.VirtualMachine(relax_mlir.compile(mod, exec_mode=exec_mode))["main"]
    compare(functions, main(x), (x,))


def test_bidirectional_lstm() -> None:
    torch.manual_seed(0)
    model = nn.LSTM(3, 4, bidirectional=True, batch_first=True).eval()
    x = random(2, 5, 3)
    got = load(from_exported_program(torch.export.export(model, (x,))))(x)
    with torch.no_grad():
        wanted = model(x)
    for ours, theirs in zip(got, flat(wanted), strict=True):
        torch.testing.assert_close(torch.from_dlpack(ours), theirs, rtol=1e-5, atol=1e-5)
