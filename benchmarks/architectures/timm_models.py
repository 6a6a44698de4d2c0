# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Architectures of timm, with random weights: the small ones of each family, or fewer layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import timm
from case import Case, image
from torch import nn


def _make(name: str, options: dict[str, Any]) -> Callable[[], nn.Module]:
    return lambda: timm.create_model(name, pretrained=False, num_classes=10, **options)


_TINY = {"embed_dim": 48, "depth": 2, "num_heads": 4}
_SIZE = {"img_size": 64}

# Name, family, size of images, options.
_MODELS: list[tuple[str, str, int, dict[str, Any]]] = [
    ("resnet26d", "ResNet", 64, {}),
    ("seresnet18", "ResNet", 64, {}),
    ("skresnet18", "ResNet", 64, {}),
    ("resnest14d", "ResNet", 64, {}),
    ("ecaresnet26t", "ResNet", 64, {}),
    ("res2net50_14w_8s", "ResNet", 64, {}),
    ("resnetv2_18", "ResNet", 64, {}),
    ("nf_regnet_b0", "NFNet", 64, {}),
    ("hrnet_w18_small", "HRNet", 64, {}),
    ("dla34", "DLA", 64, {}),
    ("cspresnet50", "CSPNet, DarkNet", 64, {}),
    ("darknet53", "CSPNet, DarkNet", 64, {}),
    ("dpn48b", "DPN", 64, {}),
    ("ese_vovnet19b_slim", "VoVNet", 64, {}),
    ("selecsls42", "SelecSLS", 64, {}),
    ("xception41", "Xception", 64, {}),
    ("inception_v4", "Inception", 96, {}),
    ("inception_next_atto", "Inception", 64, {}),
    ("repvgg_a0", "RepVGG", 64, {}),
    ("ghostnet_050", "MobileNet", 64, {}),
    ("mobilenetv4_conv_small_050", "MobileNet", 64, {}),
    ("mobileone_s0", "MobileNet", 64, {}),
    ("lcnet_050", "MobileNet", 64, {}),
    ("tinynet_e", "EfficientNet", 64, {}),
    ("efficientnet_lite0", "EfficientNet", 64, {}),
    ("mixnet_s", "EfficientNet", 64, {}),
    ("hardcorenas_a", "MobileNet", 64, {}),
    ("rexnet_100", "ReXNet", 64, {}),
    ("fbnetv3_b", "MobileNet", 64, {}),
    ("regnetz_005", "RegNet", 64, {}),
    ("convnext_atto", "ConvNeXt", 64, {}),
    ("convnextv2_atto", "ConvNeXt", 64, {}),
    ("convmixer_768_32", "mixers", 56, {}),
    ("mixer_s32_224", "mixers", 64, _SIZE),
    ("resmlp_12_224", "mixers", 64, _SIZE),
    ("gmlp_ti16_224", "mixers", 64, _SIZE),
    ("poolformer_s12", "PoolFormer", 64, {}),
    ("poolformerv2_s12", "PoolFormer", 64, {}),
    ("caformer_s18", "PoolFormer", 64, {}),
    ("starnet_s1", "StarNet", 64, {}),
    ("repvit_m0_9", "MobileViT", 64, {}),
    ("mambaout_femto", "MambaOut", 64, {}),
    ("fastvit_t8", "MobileViT", 64, {}),
    ("mobilevit_xxs", "MobileViT", 64, {}),
    ("mobilevitv2_050", "MobileViT", 64, {}),
    ("edgenext_xx_small", "MobileViT", 64, {}),
    ("efficientformer_l1", "MobileViT", 224, {"depths": (1, 1, 1, 2)}),
    ("efficientvit_b0", "MobileViT", 64, {}),
    ("efficientvit_m0", "MobileViT", 224, {}),
    ("levit_128s", "MobileViT", 224, {}),
    ("tiny_vit_5m_224", "MobileViT", 224, {"depths": (1, 1, 1, 1)}),
    ("vit_tiny_patch16_224", "ViT, DeiT", 64, {**_SIZE, **_TINY}),
    ("vit_relpos_small_patch16_224", "ViT, DeiT", 64, {**_SIZE, **_TINY}),
    ("deit_tiny_distilled_patch16_224", "ViT, DeiT", 64, {**_SIZE, **_TINY}),
    ("deit3_small_patch16_224", "ViT, DeiT", 64, {**_SIZE, **_TINY}),
    ("beit_base_patch16_224", "BEiT, EVA", 64, {**_SIZE, **_TINY}),
    ("eva02_tiny_patch14_224", "BEiT, EVA", 56, {"img_size": 56, **_TINY}),
    ("cait_xxs24_224", "ViT, DeiT", 64, {**_SIZE, **_TINY}),
    ("xcit_nano_12_p16_224", "ViT, DeiT", 64, {**_SIZE, "depth": 2}),
    ("crossvit_tiny_240", "ViT, DeiT", 240, {}),
    ("coat_lite_tiny", "ViT, DeiT", 64, {**_SIZE}),
    ("convit_tiny", "ViT, DeiT", 64, {**_SIZE, **_TINY}),
    ("tnt_s_legacy_patch16_224", "ViT, DeiT", 64, {**_SIZE, "depth": 2}),
    ("pit_ti_224", "ViT, DeiT", 224, {"depth": (1, 1, 1)}),
    ("visformer_tiny", "ViT, DeiT", 224, {"depth": (1, 1, 1)}),
    ("pvt_v2_b0", "hierarchical ViT", 64, {"depths": (1, 1, 1, 1)}),
    ("twins_pcpvt_small", "hierarchical ViT", 64, {**_SIZE, "depths": (1, 1, 1, 1)}),
    ("twins_svt_small", "hierarchical ViT", 224, {"depths": (1, 1, 2, 1)}),
    ("nest_tiny", "hierarchical ViT", 64, _SIZE),
    ("focalnet_tiny_srf", "hierarchical ViT", 64, {}),
    ("davit_tiny", "hierarchical ViT", 64, {"depths": (1, 1, 1, 1)}),
    ("gcvit_xxtiny", "hierarchical ViT", 224, {}),
    ("hiera_tiny_224", "hierarchical ViT", 224, {"stages": (1, 1, 1, 1)}),
    ("volo_d1_224", "hierarchical ViT", 64, _SIZE),
    ("swin_tiny_patch4_window7_224", "Swin", 224, {"embed_dim": 24, "depths": (2, 2, 2, 2)}),
    ("swinv2_tiny_window8_256", "Swin", 256, {"embed_dim": 24, "depths": (2, 2, 2, 2)}),
    ("maxvit_rmlp_pico_rw_256", "MaxViT, CoAtNet", 256, {"depths": (1, 1, 1, 1)}),
    ("coatnet_pico_rw_224", "MaxViT, CoAtNet", 224, {"depths": (1, 1, 1, 1)}),
    ("sequencer2d_s", "Sequencer", 64, {"layers": (1, 1, 1, 1)}),
]

CASES = [
    Case(f"timm/{name}", family, _make(name, options), (image(size),))
    for name, family, size, options in _MODELS
]
