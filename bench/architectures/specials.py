"""What single classes need besides the general rules of `tiny_config` and `tiny_processor`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Special:
    """Settings of one class.

    ``config``, ``processor_settings`` and ``image_settings`` are added to the small ones, ``processor_attributes`` are
    set on the processor. ``image`` is the text that stands for an image in a prompt. ``tokens`` and ``roles`` are
    added to the tokenizer; ``pieces`` are not control tokens, but pieces of a tokenizer that writes a sign before each
    text, as SentencePiece does. ``names`` gives the token of an entry of the configuration ("image" for
    image_token_id).
    ``packages`` are needed besides those of transformers. ``reason`` says why the class answers no question about an
    image.
    """

    config: Mapping[str, Any] = field(default_factory=dict)
    processor: str | None = None
    processor_settings: Mapping[str, Any] = field(default_factory=dict)
    image_processor: str | None = None
    image_settings: Mapping[str, Any] = field(default_factory=dict)
    processor_attributes: Mapping[str, Any] = field(default_factory=dict)
    image: str | None = None
    tokens: tuple[str, ...] = ()
    pieces: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    packages: tuple[str, ...] = ()
    reason: str = ""


_PIXELS = {"shortest_edge": 32 * 32, "longest_edge": 48 * 48}
_HALF = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5, "mrope_section": [1, 1, 2]}
_WHOLE = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]}
_SAM = {
    "hidden_size": 32,
    "output_channels": 32,
    "image_size": 32,
    "mlp_dim": 48,
    "window_size": 2,
    "global_attn_indexes": [1],
    "downsample_channels": [32, 32],
}

_EXPERTS = {"num_experts_per_tok": 2, "mlp_layer_types": ["dense", "sparse"]}
_CODES = {"base_channels": 32, "embed_dim": 8, "latent_channels": 8, "num_res_blocks": 1, "hidden_size": 32}

_GEMMA4_VISION = {
    "model_type": "gemma4_vision",
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "patch_size": 8,
    "pooling_kernel_size": 2,
    "position_embedding_size": 64,
}
_GEMMA4_IMAGES = {"max_soft_tokens": 70, "pooling_kernel_size": 2}

SPECIALS: Mapping[str, Special] = {
    "aria": Special(
        config={
            "projector_patch_to_query_dict": {100: 4},
            "vision_config": {"image_size": 980, "patch_size": 98},
            "text_config": {"moe_intermediate_size": 48},
        },
        processor_settings={"size_conversion": {490: 4, 980: 4}},
        image_settings={"max_image_size": 980, "min_image_size": 336},
    ),
    "blip": Special(image=""),
    "chameleon": Special(
        config={"vq_config": _CODES | {"num_embeddings": 8, "channel_multiplier": [1, 1, 1], "resolution": 32}},
        processor_settings={"image_seq_length": 64},
        roles={"image_token": "<image>", "sep_token": "<|sep|>"},
        tokens=tuple(f"IMGIMG{letter}Z" for letter in "ABCDEFGH"),
    ),
    "cohere2_vision": Special(image_settings={"patch_size": 2}),
    "cohere_compass": Special(
        config={
            "text_config": {"rope_parameters": {"full_attention": None, "sliding_attention": _WHOLE}},
            "vision_config": {"deepstack_visual_indexes": [0], "num_position_embeddings": 16},
        },
        image_settings={"size": _PIXELS},
        roles={
            "image_token": "<|IMAGE_PAD|>",
            "video_token": "<|VIDEO_PAD|>",
            "vision_start_token": "<|VISION_START|>",
            "vision_end_token": "<|VISION_END|>",
        },
    ),
    "cosmos3_edge": Special(
        config={
            "text_config": {"rope_parameters": _WHOLE},
            "vision_config": {"num_patches": 16},
            "projector_hidden_size": 32,
        }
    ),
    "cosmos3_omni": Special(processor="Qwen3VLProcessor"),
    "deepseek_ocr2": Special(  # writes 144 tokens for each tile, whatever the size
        config={"vision_config": {"sam_config": _SAM | {"image_size": 48}}, "text_config": _EXPERTS},
        processor_settings={"patch_size": 4, "downsample_ratio": 1},
        image_settings={"size": {"height": 48, "width": 48}, "tile_size": 48},
    ),
    "deepseek_vl": Special(processor_settings={"num_image_tokens": 16}),
    "deepseek_vl_hybrid": Special(
        config={"high_res_vision_config": _SAM | {"image_size": 64}},
        processor_settings={"num_image_tokens": 16},
        image_settings={"high_res_size": {"height": 64, "width": 64}},
    ),
    "diffusion_gemma": Special(
        config={
            "vision_config": _GEMMA4_VISION,
            "text_config": {"num_experts": 4, "top_k_experts": 2, "moe_intermediate_size": 48},
            "canvas_length": 8,
        },
        image_processor="Gemma4ImageProcessorPil",
        image_settings=_GEMMA4_IMAGES,
    ),
    "emu3": Special(
        config={"vq_config": _CODES | {"codebook_size": 8, "channel_multiplier": [1, 1, 1, 1], "attn_resolutions": []}},
        roles={"image_token": "<image>"},
        tokens=("<|extra_200|>", *(f"<|visual token {number:06}|>" for number in range(8))),
    ),
    "ernie4_5_vl_moe": Special(config={"text_config": {"rope_parameters": {"mrope_section": [3, 3, 2]}}}),
    "evolla": Special(reason="it takes proteins, not images"),
    "fast_vlm": Special(
        config={"vision_config": {"architecture": "test_resnet", "hidden_size": 96, "model_args": None}},
        processor="LlavaProcessor",
        processor_settings={"patch_size": 32, "vision_feature_select_strategy": "full"},
        image_processor="CLIPImageProcessorPil",
        packages=("timm",),
    ),
    # Its image processor for Pillow is given tensors where it expects arrays.
    "fuyu": Special(pieces=("|SPEAKER|", "|NEWLINE|"), image="", image_processor="FuyuImageProcessor"),
    "gemma3n": Special(
        config={
            "vision_config": {"architecture": "test_resnet", "hidden_size": 96},
            "vision_soft_tokens_per_image": 1,
            "text_config": {
                "num_hidden_layers": 4,
                "layer_types": ["sliding_attention", "full_attention"] * 2,
                "num_kv_shared_layers": 2,
                "activation_sparsity_pattern": [0.0] * 4,
                "intermediate_size": [48] * 4,
            },
        },
        processor_settings={"image_seq_length": 1},
        packages=("timm",),
    ),
    "git": Special(image=""),
    "glm46v": Special(config={"text_config": {"rope_parameters": _WHOLE}}),
    "glm4v_moe": Special(config={"text_config": {"rope_parameters": _HALF}}, image_processor="Glm4vImageProcessorPil"),
    "glm5_next": Special(config={"text_config": {"num_key_value_heads": 2, "index_topk": 16}}),
    "glm_ocr": Special(processor="Glm46VProcessor", image_processor="Glm46VImageProcessorPil"),
    "glmga": Special(config={"text_config": {"rope_parameters": _WHOLE}}, processor="Glm46VProcessor"),
    "got_ocr2": Special(image="<img><imgpad></img>", processor_attributes={"num_image_tokens": 1}),
    "granite4_vision": Special(
        config={
            "image_grid_pinpoints": [[32, 64], [64, 32], [64, 64]],
            "vision_config": {"hidden_size": 64},
            "downsample_rate": "1/2",
            "deepstack_layer_map": [[0, 0]],
            "spatial_target_layers": [0, 1, 0, 1],
        },
        processor_settings={
            "downsample_rate": "1/2",
            "vision_feature_select_strategy": "default",
            "num_additional_image_tokens": 1,
        },
    ),
    "granite_docling": Special(processor_settings={"image_seq_len": 1}),
    "hunyuan_vl": Special(
        config={"text_config": {"head_dim": 16}, "vision_config": {"max_image_size": 64, "text_hidden_size": 32}},
        image="<|image_start|><|image|><|image_end|>",
    ),
    "inkling2": Special(
        config={"vision_config": {"patch_size": 20, "posemb_grid_size": 4}},
        image_settings={"size": {"height": 40, "width": 40}},
    ),
    "instructblipvideo": Special(reason="its processor takes videos of four frames, not images"),
    "janus": Special(
        config={
            "vq_config": {"base_channels": 32, "num_embeddings": 32, "channel_multiplier": [1], "num_res_blocks": 1}
        },
        processor_settings={"num_image_tokens": 16},
    ),
    "kimi_k25": Special(
        config={"text_config": {"num_key_value_heads": 2}, "vision_config": {"pos_emb_height": 4, "pos_emb_width": 4}}
    ),
    "kosmos-2": Special(processor="Kosmos2Processor", processor_attributes={"first_image_token_id": 8}, image=""),
    "kosmos-2.5": Special(
        config={"latent_query_num": 8, "vision_config": {"patch_embed_hidden_size": 192, "max_num_patches": 16}},
        processor="Kosmos2_5Processor",
        processor_settings={"num_image_tokens": 8},
        processor_attributes={"images_kwargs": {"max_patches": 16, "return_tensors": "pt"}},
        image="",
    ),
    "lfm2_vl": Special(
        config={"vision_config": {"patch_size": 8, "num_patches": 16}},
        image_settings={
            "encoder_patch_size": 8,
            "tile_size": 32,
            "max_tiles": 4,
            "min_image_tokens": 1,
            "max_image_tokens": 8,
            "max_num_patches": 64,
        },
    ),
    "llama4": Special(
        config={
            "vision_config": {
                "intermediate_size": 128,
                "projector_input_dim": 32,
                "projector_output_dim": 32,
                "vision_output_dim": 32,
            },
            "text_config": {"moe_layers": [1], "num_experts_per_tok": 1, "no_rope_layers": [1, 0]},
        },
        image_settings={"max_patches": 2},
        names={"image": "<|patch|>"},
    ),
    "llava_next_video": Special(
        config={"image_grid_pinpoints": [[32, 64], [64, 32], [64, 64]]},
        processor_settings={"vision_feature_select_strategy": "default", "num_additional_image_tokens": 1},
    ),
    "minicpm_ocr": Special(image_settings={"scale_resolution": 64, "max_slice_nums": 1}),
    "minicpmv4_6": Special(image_settings={"scale_resolution": 64, "max_slice_nums": 1}),
    "minicpmv4_7": Special(image_settings={"scale_resolution": 64, "max_slice_nums": 1}),
    "minimax_m3_vl": Special(
        tokens=("]<]image[>[", "]<]video[>[", "]<]start of image[>[", "]<]end of image[>["),
        config={"text_config": {"rotary_dim": 16}},
    ),
    "mistral4": Special(reason="a language model that takes no images"),
    "mistral_large4": Special(config={"spatial_merge_size": 1, "text_config": {"num_key_value_heads": 2}}),
    "molmo2": Special(
        config={"adapter_config": {"vision_feature_layer": [1, 0]}, "vision_config": {"num_position_embeddings": 16}},
        image_settings={"overlap_margins": [1, 1], "max_crops": 2},
        names={
            "image_patch": "<im_patch>",
            "image_start": "<im_start>",
            "image_end": "<im_end>",
            "low_res_image_start": "<low_res_im_start>",
        },
    ),
    "muse_spark": Special(
        config={
            "audio_config": {"patch_sizes": [16, 6], "hidden_sizes": [16, 16], "depths": [1, 1]},
            "out_hidden_size": 128,
        }
    ),
    "muse_glimmer": Special(config={"out_hidden_size": 128}),
    "ovis2": Special(
        processor_settings={"image_seq_length": 16},
        tokens=("<IMG_START>", "<IMG_GRID>"),
        image="<image>",
        names={"image": "<IMG_ATOM>"},
    ),
    "perception_lm": Special(
        config={
            "vision_config": {
                "architecture": "vit_tiny_patch16_224",
                "model_args": {"embed_dim": 32, "depth": 2, "num_heads": 2, "img_size": 32, "patch_size": 8},
            },
            "projector_pooling_ratio": 2,
        },
        processor_settings={"patch_size": 8, "pooling_ratio": 2},
        image_settings={"tile_size": 32, "max_num_tiles": 2},
        packages=("timm",),
    ),
    "pi0": Special(reason="it returns actions of a robot, not text, and has no generate()"),
    "pix2struct": Special(
        config={"vision_config": {"patch_embed_hidden_size": 192}}, image="", image_settings={"max_patches": 16}
    ),
    "pp_chart2table": Special(
        image="<img><imgpad></img>", tokens=("<img>", "<imgpad>", "</img>"), names={"image": "<imgpad>"}
    ),
    "pp_formulanet": Special(image=""),
    "qianfan_ocr": Special(processor_settings={"image_seq_length": 1}, image="<image>"),
    "qwen2_5_omni_thinker": Special(
        config={"vision_start_token_id": 5},
        processor="Qwen2_5OmniProcessor",
        image_processor="Qwen2VLImageProcessorPil",
    ),
    "qwen3_omni_moe_thinker": Special(
        config={"vision_start_token_id": 5},
        processor="Qwen3OmniMoeProcessor",
        image_processor="Qwen2VLImageProcessorPil",
    ),
    "qwen3_vl_moe": Special(image_processor="Qwen2VLImageProcessorPil"),
    "qwen4_exp": Special(
        config={
            "text_config": {
                "indexer_n_heads": 2,
                "indexer_kv_heads": 1,
                "indexer_head_dim": 16,
                "indexer_budget": 16,
                "indexer_compress_ratio": 4,
            }
        }
    ),
    "step3p7": Special(
        config={"text_config": {"sliding_window": 16}},
        tokens=("<patch_start>", "<patch_end>", "<im_start>", "<im_end>"),
        image_settings={"patch_size": 32, "vision_patch_size": 8},
    ),
    "udop": Special(reason="a parser of documents: its tokenizer takes words with their boxes, not a question"),
    "unlimited_ocr": Special(config={"vision_config": {"sam_config": _SAM}}),
    "vipllava": Special(config={"vision_feature_layer": [-1, -2]}),
    "vision-encoder-decoder": Special(
        reason="any image encoder with any text decoder: it takes an image alone, without a question"
    ),
    "dots3_note": Special(
        config={
            "audio_config": {
                "adapter_input_size": 32,
                "adapter_out_dim": 32,
                "feature_size": 8,
                "conv_output_size": 32,
            },
            "vision_config": {"adapter_in_dim": 32, "adapter_out_dim": 32},
            "text_config": {
                "num_key_value_heads": 2,
                "index_topk": 16,
                "swa_num_attention_heads": 2,
                "swa_num_key_value_heads": 2,
                "swa_q_lora_rank": 16,
                "swa_kv_lora_rank": 16,
                "swa_head_dim": 32,
                "swa_qk_nope_head_dim": 16,
                "swa_v_head_dim": 16,
            },
        },
        image_settings={"temporal_patch_size": 1},
    ),
    "florence2": Special(
        config={
            "vision_config": {
                "depths": [1, 1],
                "patch_size": [7, 3],
                "patch_stride": [4, 2],
                "patch_padding": [3, 1],
                "patch_prenorm": [False, True],
                "embed_dim": [16, 32],
                "num_heads": [2, 2],
                "num_groups": [2, 2],
                "window_size": 4,
                "projection_dim": 32,
            }
        },
        processor_attributes={"num_image_tokens": 17},
        image="",
    ),
    "gemma4": Special(config={"vision_config": _GEMMA4_VISION, "audio_config": None}, image_settings=_GEMMA4_IMAGES),
    "nemotron_h_omni": Special(config={"text_config": {"n_groups": 1}}),
    "shieldgemma2": Special(
        config={"mm_tokens_per_image": 4},
        processor_settings={"image_seq_length": 4},
        image="<|boi|>",
        names={"image": "<|image|>"},
    ),
    "t5gemma2": Special(
        config={"encoder": {"mm_tokens_per_image": 4}},
        processor_settings={"image_seq_length": 4},
        image="<|boi|>",
        names={"image": "<|image|>"},
    ),
    "gemma4_unified": Special(
        config={
            "vision_config": {
                "patch_size": 8,
                "pooling_kernel_size": 2,
                "mm_embed_dim": 32,
                "mm_posemb_size": 64,
                "output_proj_dims": 32,
            },
            "audio_config": None,
        },
        image_settings=_GEMMA4_IMAGES,
    ),
    "inkling_mm_model": Special(config={"vision_config": {"patch_size": 32}}),
}
