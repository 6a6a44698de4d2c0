# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Architectures of transformers, with random weights, few layers and small widths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import transformers
from case import Case, Input, Outputs, image, tokens
from torch import nn

# What configurations call their sizes; each takes the names that it knows.
_SMALL: dict[str, Any] = {
    "vocab_size": 99,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "use_cache": False,
}


def _make(
    config: str, model: str, names: tuple[str, ...], options: dict[str, Any]
) -> Callable[[], nn.Module]:
    def build() -> nn.Module:
        common = {} if options.get(_ALONE) else _SMALL
        chosen = {key: value for key, value in {**common, **options}.items() if key != _ALONE}
        configuration = getattr(transformers, config)(**chosen)
        return Outputs(getattr(transformers, model)(configuration), *names)

    return build


# An option: no others but those that a row gives.
_ALONE = "alone"

_IDS = tokens()
_MASK = Input(("batch", "length"), 1)
_PATCHES = {"image_size": 32, "patch_size": 8}
_GROUPED = {"num_key_value_heads": 2, "head_dim": 8}
_EXPERTS = {
    "experts_implementation": "batched_mm",  # the others take sizes from data
    "num_experts": 4,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 32,
    "decoder_sparse_step": 1,
}
_PAIR = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "decoder_start_token_id": 1,
    "scale_embedding": True,
}
_T5 = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
_T5 |= {"decoder_start_token_id": 0}
_STAGES = {_ALONE: True, "image_size": 64, "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4]}
_SPEECH = {
    "conv_dim": (16, 16, 16),
    "conv_stride": (5, 2, 2),
    "conv_kernel": (10, 3, 3),
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
    "num_feat_extract_layers": 3,
}
_GPT = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "n_inner": 64}
_CLIP = {
    "text_config": {**_SMALL, "projection_dim": 16},
    "vision_config": {**_SMALL, **_PATCHES, "projection_dim": 16},
    "projection_dim": 16,
}

# Name of the model's class less "Model" or the head, options. Inputs: tokens and a mask.
_ENCODERS: list[tuple[str, str, dict[str, Any]]] = [
    ("Bert", "BertModel", {}),
    ("Roberta", "RobertaModel", {}),
    ("XLMRoberta", "XLMRobertaModel", {}),
    ("Albert", "AlbertModel", {"embedding_size": 16}),
    ("DistilBert", "DistilBertModel", {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}),
    ("Electra", "ElectraModel", {"embedding_size": 16}),
    ("Deberta", "DebertaModel", {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]}),
    ("DebertaV2", "DebertaV2Model", {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]}),
    ("MPNet", "MPNetModel", {}),
    ("MobileBert", "MobileBertModel", {"embedding_size": 16, "intra_bottleneck_size": 32}),
    ("SqueezeBert", "SqueezeBertModel", {"embedding_size": 32}),
    ("ConvBert", "ConvBertModel", {"embedding_size": 16, "num_attention_heads": 4}),
    ("Ernie", "ErnieModel", {}),
    ("Nystromformer", "NystromformerModel", {"num_landmarks": 4, "segment_means_seq_len": 4}),
    ("FNet", "FNetModel", {}),
    ("RoFormer", "RoFormerModel", {"embedding_size": 32}),
    ("ModernBert", "ModernBertModel", {"local_attention": 8}),
    ("MegatronBert", "MegatronBertModel", {}),
    ("RemBert", "RemBertModel", {"input_embedding_size": 16}),
    ("IBert", "IBertModel", {}),
    (
        "Funnel",
        "FunnelModel",
        {
            _ALONE: True,
            "vocab_size": 99,
            "block_sizes": [1, 1],
            "d_model": 32,
            "n_head": 4,
            "d_head": 8,
            "d_inner": 64,
        },
    ),
    ("Flaubert", "FlaubertModel", {"emb_dim": 32, "n_layers": 2, "n_heads": 4, "n_words": 99}),
    (
        "XLNet",
        "XLNetModel",
        {_ALONE: True, "vocab_size": 99, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64},
    ),
    ("Esm", "EsmModel", {"position_embedding_type": "rotary"}),
    ("LayoutLM", "LayoutLMModel", {}),
]

_DECODERS: list[tuple[str, str, dict[str, Any]]] = [
    ("GPT2", "GPT2LMHeadModel", _GPT),
    ("GPTBigCode", "GPTBigCodeForCausalLM", _GPT),
    (
        "GPTNeo",
        "GPTNeoForCausalLM",
        {
            "num_layers": 2,
            "num_heads": 4,
            "window_size": 4,
            "attention_types": [[["global", "local"], 1]],
        },
    ),
    ("GPTNeoX", "GPTNeoXForCausalLM", {}),
    ("GPTJ", "GPTJForCausalLM", {**_GPT, "rotary_dim": 4}),
    ("CodeGen", "CodeGenForCausalLM", {**_GPT, "rotary_dim": 4}),
    ("OPT", "OPTForCausalLM", {"ffn_dim": 64, "word_embed_proj_dim": 32}),
    ("Bloom", "BloomForCausalLM", {"n_layer": 2, "n_head": 4}),
    ("Mpt", "MptForCausalLM", {"d_model": 32, "n_layers": 2, "n_heads": 4, "max_seq_len": 64}),
    ("Falcon", "FalconForCausalLM", {}),
    ("Llama", "LlamaForCausalLM", _GROUPED),
    ("Mistral", "MistralForCausalLM", {**_GROUPED, "sliding_window": 4}),
    ("Mixtral", "MixtralForCausalLM", {**_GROUPED, **_EXPERTS}),
    ("Gemma", "GemmaForCausalLM", _GROUPED),
    ("Gemma2", "Gemma2ForCausalLM", {**_GROUPED, "sliding_window": 4}),
    ("Gemma3Text", "Gemma3ForCausalLM", {**_GROUPED, "sliding_window": 4}),
    ("Qwen2", "Qwen2ForCausalLM", _GROUPED),
    ("Qwen2Moe", "Qwen2MoeForCausalLM", {**_GROUPED, **_EXPERTS}),
    ("Qwen3", "Qwen3ForCausalLM", _GROUPED),
    ("Qwen3Moe", "Qwen3MoeForCausalLM", {**_GROUPED, **_EXPERTS}),
    ("Phi", "PhiForCausalLM", {}),
    ("Phi3", "Phi3ForCausalLM", {"num_key_value_heads": 2}),
    ("StableLm", "StableLmForCausalLM", {"num_key_value_heads": 2}),
    ("Starcoder2", "Starcoder2ForCausalLM", {"num_key_value_heads": 2}),
    ("Olmo2", "Olmo2ForCausalLM", {"num_key_value_heads": 2}),
    ("Cohere", "CohereForCausalLM", {"num_key_value_heads": 2}),
    ("Granite", "GraniteForCausalLM", {"num_key_value_heads": 2}),
    ("SmolLM3", "SmolLM3ForCausalLM", {"num_key_value_heads": 2}),
    ("Glm4", "Glm4ForCausalLM", _GROUPED),
    ("Helium", "HeliumForCausalLM", _GROUPED),
    ("Nemotron", "NemotronForCausalLM", {"num_key_value_heads": 2}),
    ("GptOss", "GptOssForCausalLM", {**_GROUPED, **_EXPERTS, "sliding_window": 4}),
    (
        "DeepseekV3",
        "DeepseekV3ForCausalLM",
        {
            **_EXPERTS,
            "num_key_value_heads": 4,
            "q_lora_rank": 16,
            "kv_lora_rank": 16,
            "qk_rope_head_dim": 4,
            "qk_nope_head_dim": 4,
            "v_head_dim": 8,
            "n_routed_experts": 4,
            "num_experts_per_tok": 2,
            "n_group": 2,
            "topk_group": 1,
            "moe_intermediate_size": 32,
            "first_k_dense_replace": 1,
        },
    ),
    ("BioGpt", "BioGptForCausalLM", {}),
    (
        "XGLM",
        "XGLMForCausalLM",
        {"d_model": 32, "num_layers": 2, "attention_heads": 4, "ffn_dim": 64},
    ),
    (
        "CTRL",
        "CTRLLMHeadModel",
        {"n_embd": 32, "n_layer": 2, "n_head": 4, "dff": 64, "n_positions": 64},
    ),
    ("OpenAIGPT", "OpenAIGPTLMHeadModel", _GPT),
]

_STATE_SPACES: list[tuple[str, str, dict[str, Any]]] = [
    ("Mamba", "MambaForCausalLM", {"state_size": 8}),
    (
        "Mamba2",
        "Mamba2ForCausalLM",
        {"state_size": 8, "num_heads": 8, "head_dim": 8, "n_groups": 2, "chunk_size": 8},
    ),
    ("FalconMamba", "FalconMambaForCausalLM", {"state_size": 8}),
    ("Rwkv", "RwkvForCausalLM", {"context_length": 64}),
    (
        "RecurrentGemma",
        "RecurrentGemmaForCausalLM",
        {**_GROUPED, "lru_width": 32, "attention_window_size": 8},
    ),
]

_TEXT_PAIRS: list[tuple[str, str, dict[str, Any]]] = [
    ("T5", "T5ForConditionalGeneration", _T5),
    ("MT5", "MT5ForConditionalGeneration", _T5),
    ("LongT5", "LongT5ForConditionalGeneration", {**_T5, "local_radius": 4}),
    (
        "SwitchTransformers",
        "SwitchTransformersForConditionalGeneration",
        {
            **_T5,
            "num_sparse_encoder_layers": 1,
            "num_sparse_decoder_layers": 1,
            "num_experts": 4,
            "num_decoder_layers": 2,
        },
    ),
    ("Bart", "BartForConditionalGeneration", _PAIR),
    ("MBart", "MBartForConditionalGeneration", _PAIR),
    ("Marian", "MarianMTModel", _PAIR),
    ("Pegasus", "PegasusForConditionalGeneration", _PAIR),
    ("Blenderbot", "BlenderbotForConditionalGeneration", _PAIR),
    ("M2M100", "M2M100ForConditionalGeneration", _PAIR),
    (
        "ProphetNet",
        "ProphetNetForConditionalGeneration",
        {
            _ALONE: True,
            "vocab_size": 99,
            "hidden_size": 32,
            "encoder_ffn_dim": 64,
            "decoder_ffn_dim": 64,
            "num_encoder_layers": 2,
            "num_decoder_layers": 2,
            "num_encoder_attention_heads": 4,
            "num_decoder_attention_heads": 4,
            "ngram": 2,
        },
    ),
]

# Name, family, options, inputs.
_IMAGES: list[tuple[str, str, str, dict[str, Any], int]] = [
    ("ViT", "ViTModel", "ViT, DeiT", _PATCHES, 32),
    ("DeiT", "DeiTModel", "ViT, DeiT", _PATCHES, 32),
    ("Beit", "BeitModel", "BEiT, EVA", {**_PATCHES, "use_relative_position_bias": True}, 32),
    ("Data2VecVision", "Data2VecVisionModel", "BEiT, EVA", _PATCHES, 32),
    ("Dinov2", "Dinov2Model", "ViT, DeiT", _PATCHES, 32),
    ("ViTMSN", "ViTMSNModel", "ViT, DeiT", _PATCHES, 32),
    (
        "Yolos",
        "YolosForObjectDetection",
        "detection",
        {"image_size": [32, 32], "patch_size": 8, "num_detection_tokens": 5},
        32,
    ),
    ("Swin", "SwinModel", "Swin", {**_STAGES, "window_size": 4}, 64),
    ("Swinv2", "Swinv2Model", "Swin", {**_STAGES, "window_size": 4}, 64),
    (
        "Segformer",
        "SegformerForSemanticSegmentation",
        "segmentation",
        {
            "hidden_sizes": [8, 16, 24, 32],
            "num_attention_heads": [1, 2, 2, 4],
            "depths": [1, 1, 1, 1],
            "decoder_hidden_size": 16,
        },
        64,
    ),
    (
        "DPT",
        "DPTForSemanticSegmentation",
        "segmentation",
        {
            **_PATCHES,
            "backbone_out_indices": [0, 1, 2, 3],
            "neck_hidden_sizes": [8, 8, 16, 16],
            "fusion_hidden_size": 16,
            "num_hidden_layers": 4,
        },
        32,
    ),
    (
        "GLPN",
        "GLPNForDepthEstimation",
        "depth",
        {
            "hidden_sizes": [8, 16, 24, 32],
            "num_attention_heads": [1, 2, 2, 4],
            "depths": [1, 1, 1, 1],
            "decoder_hidden_size": 16,
        },
        64,
    ),
    (
        "ConvNext",
        "ConvNextModel",
        "ConvNeXt",
        {_ALONE: True, "hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1]},
        64,
    ),
    (
        "ResNet",
        "ResNetModel",
        "ResNet",
        {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1]},
        64,
    ),
    (
        "RegNet",
        "RegNetModel",
        "RegNet",
        {
            _ALONE: True,
            "embedding_size": 8,
            "hidden_sizes": [8, 16],
            "depths": [1, 1],
            "groups_width": 8,
        },
        64,
    ),
    ("MobileViT", "MobileViTModel", "MobileViT", {"image_size": 64}, 64),
    ("MobileNetV1", "MobileNetV1Model", "MobileNet", {}, 64),
    (
        "PoolFormer",
        "PoolFormerModel",
        "PoolFormer",
        {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1]},
        64,
    ),
    (
        "Cvt",
        "CvtModel",
        "hierarchical ViT",
        {_ALONE: True, "embed_dim": [8, 16, 32], "num_heads": [1, 2, 4], "depth": [1, 1, 1]},
        64,
    ),
    (
        "PvtV2",
        "PvtV2Model",
        "hierarchical ViT",
        {
            "hidden_sizes": [8, 16, 24, 32],
            "num_attention_heads": [1, 2, 2, 4],
            "depths": [1, 1, 1, 1],
        },
        64,
    ),
    (
        "FocalNet",
        "FocalNetModel",
        "hierarchical ViT",
        {
            "image_size": 64,
            "embed_dim": 16,
            "depths": [1, 1],
            "hidden_sizes": [16, 32],
            "focal_levels": [2, 2],
            "focal_windows": [3, 3],
        },
        64,
    ),
    (
        "Hiera",
        "HieraModel",
        "hierarchical ViT",
        {
            _ALONE: True,
            "image_size": [64, 64],
            "embed_dim": 8,
            "depths": [1, 1, 1, 1],
            "num_heads": [1, 1, 2, 2],
        },
        64,
    ),
    ("CLIPVision", "CLIPVisionModel", "CLIP", _PATCHES, 32),
    ("SiglipVision", "SiglipVisionModel", "CLIP", _PATCHES, 32),
    (
        "Swin2SR",
        "Swin2SRForImageSuperResolution",
        "super resolution",
        {
            _ALONE: True,
            "image_size": 16,
            "embed_dim": 16,
            "depths": [2],
            "num_heads": [2],
            "window_size": 4,
        },
        16,
    ),
    (
        "DepthAnything",
        "DepthAnythingForDepthEstimation",
        "depth",
        {
            "backbone_config": {
                "model_type": "dinov2",
                "hidden_size": 32,
                "num_hidden_layers": 4,
                "num_attention_heads": 4,
                "image_size": 56,
                "patch_size": 14,
                "out_features": ["stage1", "stage2", "stage3", "stage4"],
                "reshape_hidden_states": False,
            },
            "reassemble_hidden_size": 32,
            "neck_hidden_sizes": [8, 8, 16, 16],
            "fusion_hidden_size": 16,
            "head_hidden_size": 8,
        },
        56,
    ),
]

_WAVES = (Input(("batch", "samples")),)
_SPECTRUM = Input(("batch", "frames", 16))
_WHISPER = {**_PAIR, "num_mel_bins": 16, "max_source_positions": 30, "max_target_positions": 30}
_SPEECHES: list[tuple[str, str, dict[str, Any], tuple[str, ...], tuple[Input, ...]]] = [
    ("Wav2Vec2", "Wav2Vec2ForCTC", _SPEECH, ("input_values",), _WAVES),
    ("Hubert", "HubertForCTC", _SPEECH, ("input_values",), _WAVES),
    ("WavLM", "WavLMForCTC", _SPEECH, ("input_values",), _WAVES),
    ("UniSpeech", "UniSpeechForCTC", _SPEECH, ("input_values",), _WAVES),
    ("SEW", "SEWForCTC", {**_SPEECH, "squeeze_factor": 2}, ("input_values",), _WAVES),
    ("Wav2Vec2Conformer", "Wav2Vec2ConformerForCTC", _SPEECH, ("input_values",), _WAVES),
    ("Data2VecAudio", "Data2VecAudioForCTC", _SPEECH, ("input_values",), _WAVES),
    (
        "Whisper",
        "WhisperForConditionalGeneration",
        _WHISPER,
        ("input_features", "decoder_input_ids"),
        (Input(("batch", 16, 60)), _IDS),
    ),
    (
        "Speech2Text",
        "Speech2TextForConditionalGeneration",
        {
            **_PAIR,
            "input_feat_per_channel": 16,
            "conv_channels": 32,
            "max_source_positions": 64,
            "max_target_positions": 64,
        },
        ("input_features", "decoder_input_ids"),
        (_SPECTRUM, _IDS),
    ),
    (
        "ASTConfig",
        "ASTForAudioClassification",
        {"max_length": 48, "num_mel_bins": 16, "patch_size": 8},
        ("input_values",),
        (Input(("batch", 48, 16)),),
    ),
    (
        "Encodec",
        "EncodecModel",
        {"hidden_size": 32, "num_filters": 8, "codebook_size": 16},
        ("input_values",),
        (Input(("batch", 1, 640)),),
    ),
]

_SERIES = Input(("batch", 32, 3))
_OTHERS: list[tuple[str, str, str, dict[str, Any], tuple[str, ...], tuple[Input, ...]]] = [
    (
        "CLIP",
        "CLIPModel",
        "CLIP",
        _CLIP,
        ("input_ids", "pixel_values", "attention_mask"),
        (_IDS, image(32), _MASK),
    ),
    ("Siglip", "SiglipModel", "CLIP", _CLIP, ("input_ids", "pixel_values"), (tokens(), image(32))),
    (
        "VideoMAE",
        "VideoMAEModel",
        "video",
        {**_PATCHES, "num_frames": 4},
        ("pixel_values",),
        (Input(("batch", 4, 3, 32, 32)),),
    ),
    (
        "Timesformer",
        "TimesformerModel",
        "video",
        {**_PATCHES, "num_frames": 4},
        ("pixel_values",),
        (Input(("batch", 4, 3, 32, 32)),),
    ),
    (
        "PatchTST",
        "PatchTSTForPrediction",
        "time series",
        {
            "d_model": 32,
            "num_input_channels": 3,
            "context_length": 32,
            "patch_length": 8,
            "patch_stride": 8,
            "ffn_dim": 64,
            "prediction_length": 4,
        },
        ("past_values",),
        (_SERIES,),
    ),
    (
        "PatchTSMixer",
        "PatchTSMixerForPrediction",
        "time series",
        {
            "d_model": 16,
            "num_input_channels": 3,
            "context_length": 32,
            "patch_length": 8,
            "patch_stride": 8,
            "prediction_length": 4,
        },
        ("past_values",),
        (_SERIES,),
    ),
    (
        "DecisionTransformer",
        "DecisionTransformerModel",
        "decisions",
        {**_GPT, "state_dim": 5, "act_dim": 2},
        ("states", "actions", "rewards", "returns_to_go", "timesteps", "attention_mask"),
        (
            Input(("batch", "length", 5)),
            Input(("batch", "length", 2)),
            Input(("batch", "length", 1)),
            Input(("batch", "length", 1)),
            _IDS,
            _MASK,
        ),
    ),
    (
        "Detr",
        "DetrForObjectDetection",
        "detection",
        {
            **_PAIR,
            "num_queries": 5,
            "use_timm_backbone": False,
            "use_pretrained_backbone": False,
            "backbone_config": {
                "model_type": "resnet",
                "embedding_size": 8,
                "hidden_sizes": [8, 16],
                "depths": [1, 1],
                "out_features": ["stage2"],
            },
            "backbone": None,
        },
        ("pixel_values",),
        (image(64),),
    ),
]

_SIZES = {
    "batch": (2, 3, 5),
    "length": (8, 6, 13),
    "target": (5, 4, 9),
    "samples": (800, 640, 1111),
    "frames": (32, 24, 57),
}


def _case(
    config: str,
    model: str,
    family: str,
    options: dict[str, Any],
    names: tuple[str, ...],
    inputs: tuple[Input, ...],
) -> Case:
    name = config.removesuffix("Config")
    build = _make(f"{name}Config", model, names, options)
    return Case(f"transformers/{model}", family, build, inputs, _SIZES)


_PAIR_NAMES = ("input_ids", "attention_mask", "decoder_input_ids")
_PAIR_INPUTS = (_IDS, _MASK, tokens(length="target"))

CASES = [
    *(
        _case(
            config, model, "text encoders", options, ("input_ids", "attention_mask"), (_IDS, _MASK)
        )
        for config, model, options in _ENCODERS
    ),
    *(
        _case(
            config, model, "text decoders", options, ("input_ids", "attention_mask"), (_IDS, _MASK)
        )
        for config, model, options in _DECODERS
    ),
    *(
        _case(config, model, "state spaces", options, ("input_ids",), (_IDS,))
        for config, model, options in _STATE_SPACES
    ),
    *(
        _case(config, model, "text encoder-decoders", options, _PAIR_NAMES, _PAIR_INPUTS)
        for config, model, options in _TEXT_PAIRS
    ),
    *(
        _case(config, model, family, options, ("pixel_values",), (image(size),))
        for config, model, family, options, size in _IMAGES
    ),
    *(
        _case(config, model, "speech", options, names, inputs)
        for config, model, options, names, inputs in _SPEECHES
    ),
    *(_case(*row) for row in _OTHERS),
]
