# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training of models by compiled programs: losses, optimizers and a trainer, as TVM has them.

`SetupTrainer` makes a module that trains of one that predicts, `Trainer` runs it.
"""

from . import loss as loss
from . import optimizer as optimizer
from . import trainer as trainer
from . import utils as utils
from .setup_trainer import SetupTrainer
from .trainer import Trainer
from .utils import AppendLoss

__all__ = ["AppendLoss", "SetupTrainer", "Trainer", "loss", "optimizer", "trainer", "utils"]
