# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Architectures of torchvision: classification, segmentation, backbones of detection, video."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torchvision
from case import Case, Input, Outputs, image
from torch import nn
from torchvision.models import detection, segmentation, swin_transformer, video

MODELS = torchvision.models


def _plain(name: str, **options: Any) -> Callable[[], nn.Module]:
    return lambda: getattr(MODELS, name)(weights=None, num_classes=10, **options)


def _vgg() -> nn.Module:
    layers = MODELS.vgg.make_layers([16, "M", 32, "M", 64, 64, "M"], batch_norm=True)
    model = MODELS.vgg.VGG(layers, num_classes=10, init_weights=False)
    model.classifier = nn.Sequential(nn.Linear(64 * 49, 64), nn.ReLU(), nn.Linear(64, 10))
    return model


def _vit() -> nn.Module:
    return MODELS.VisionTransformer(64, 16, 2, 4, 64, 128, num_classes=10)


def _swin(version: int) -> nn.Module:
    options: dict[str, Any] = {}
    if version == 2:
        options["block"] = swin_transformer.SwinTransformerBlockV2
        options["downsample_layer"] = swin_transformer.PatchMergingV2
    return MODELS.SwinTransformer(
        [4, 4], 24, [2, 2], [2, 4], [4, 4], num_classes=10, stochastic_depth_prob=0.0, **options
    )


def _maxvit() -> nn.Module:
    return MODELS.MaxVit((64, 64), 16, 4, [16, 32], [1, 1], 8, 0.0, num_classes=10)


def _segmentation(name: str) -> Callable[[], nn.Module]:
    def build() -> nn.Module:
        make = getattr(segmentation, name)
        return Outputs(make(weights=None, weights_backbone=None, num_classes=5))

    return build


def _pyramid(name: str) -> Callable[[], nn.Module]:
    make = detection.backbone_utils
    if name.startswith("resnet"):
        return lambda: Outputs(make.resnet_fpn_backbone(backbone_name=name, weights=None))
    return lambda: Outputs(make.mobilenet_backbone(backbone_name=name, weights=None, fpn=True))


def _video(name: str) -> Callable[[], nn.Module]:
    return lambda: getattr(video, name)(weights=None, num_classes=10)


_CLASSIFIERS: list[tuple[str, str, int, dict[str, Any]]] = [
    ("alexnet", "AlexNet", 64, {}),
    ("resnet18", "ResNet", 64, {}),
    ("resnet50", "ResNet", 64, {}),
    ("resnext50_32x4d", "ResNet", 64, {}),
    ("wide_resnet50_2", "ResNet", 64, {}),
    ("densenet121", "DenseNet", 64, {}),
    ("googlenet", "Inception", 64, {"aux_logits": False, "init_weights": False}),
    ("inception_v3", "Inception", 96, {"aux_logits": False, "init_weights": False}),
    ("squeezenet1_1", "SqueezeNet", 64, {}),
    ("shufflenet_v2_x0_5", "ShuffleNet", 64, {}),
    ("mobilenet_v2", "MobileNet", 64, {}),
    ("mobilenet_v3_small", "MobileNet", 64, {}),
    ("mnasnet0_5", "MnasNet", 64, {}),
    ("efficientnet_b0", "EfficientNet", 64, {}),
    ("efficientnet_v2_s", "EfficientNet", 64, {}),
    ("regnet_x_400mf", "RegNet", 64, {}),
    ("regnet_y_400mf", "RegNet", 64, {}),
    ("convnext_tiny", "ConvNeXt", 64, {}),
]

_PYRAMIDS = ["resnet18", "mobilenet_v3_small"]
_SEGMENTERS = ["fcn_resnet50", "deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large"]
_VIDEOS = ["r3d_18", "mc3_18", "r2plus1d_18"]

CASES = [
    *(
        Case(f"torchvision/{name}", family, _plain(name, **options), (image(size),))
        for name, family, size, options in _CLASSIFIERS
    ),
    Case("torchvision/vgg_bn", "VGG", _vgg, (image(64),)),
    Case("torchvision/vit", "ViT, DeiT", _vit, (image(64),)),
    Case("torchvision/swin", "Swin", partial(_swin, 1), (image(64),)),
    Case("torchvision/swin_v2", "Swin", partial(_swin, 2), (image(64),)),
    Case("torchvision/maxvit", "MaxViT, CoAtNet", _maxvit, (image(64),)),
    *(
        Case(f"torchvision/{name}", "segmentation", _segmentation(name), (image(64),))
        for name in _SEGMENTERS
    ),
    *(
        Case(f"torchvision/{name}_fpn", "feature pyramids", _pyramid(name), (image(64),))
        for name in _PYRAMIDS
    ),
    *(
        Case(f"torchvision/{name}", "video", _video(name), (Input(("batch", 3, 8, 32, 32)),))
        for name in _VIDEOS
    ),
]
