"""Architectures that no kernel is tuned for: `bench.py --models wild`. Standard library only; wild_networks.py builds them."""

# Folder: (name in timm, size of the image).
TIMM = {
    "cait_xxs24": ("cait_xxs24_224", 224),
    "convnext_atto": ("convnext_atto", 224),
    "cspdarknet53": ("cspdarknet53", 224),
    "deit_tiny": ("deit_tiny_patch16_224", 224),
    "densenet121": ("densenet121", 224),
    "dla34": ("dla34", 224),
    "dpn68": ("dpn68", 224),
    "edgenext_small": ("edgenext_small", 256),
    "efficientformer_l1": ("efficientformer_l1", 224),
    "efficientnet_b0": ("efficientnet_b0", 224),
    "efficientvit_b0": ("efficientvit_b0", 224),
    "ese_vovnet19b_dw": ("ese_vovnet19b_dw", 224),
    "fastvit_t8": ("fastvit_t8", 256),
    "fbnetc": ("fbnetc_100", 224),
    "ghostnet": ("ghostnet_100", 224),
    "hrnet_w18_small": ("hrnet_w18_small", 224),
    "inception_v3": ("inception_v3", 299),
    "levit_128": ("levit_128", 224),
    "mixer_s16": ("mixer_s16_224", 224),
    "mnasnet": ("mnasnet_100", 224),
    "mobilenetv3_large": ("mobilenetv3_large_100", 224),
    "mobilenetv4_small": ("mobilenetv4_conv_small", 224),
    "mobileone_s0": ("mobileone_s0", 224),
    "mobilevit_s": ("mobilevit_s", 256),
    "nfnet_l0": ("nfnet_l0", 224),
    "poolformer_s12": ("poolformer_s12", 224),
    "pvt_v2_b0": ("pvt_v2_b0", 224),
    "regnety_008": ("regnety_008", 224),
    "repvgg_a0": ("repvgg_a0", 224),
    "res2net50": ("res2net50_26w_4s", 224),
    "resnest26d": ("resnest26d", 224),
    "resnext50": ("resnext50_32x4d", 224),
    "rexnet": ("rexnet_100", 224),
    "seresnext26d": ("seresnext26d_32x4d", 224),
    "swin_tiny": ("swin_tiny_patch4_window7_224", 224),
    "tinynet_a": ("tinynet_a", 192),
    "vgg11_bn": ("vgg11_bn", 224),
    "xception41": ("xception41", 299),
}
# Folder: (function in torchvision.models, options).
TORCHVISION = {
    "deeplabv3_mobilenet": ("segmentation.deeplabv3_mobilenet_v3_large", {"weights_backbone": None}),
    "googlenet": ("googlenet", {"aux_logits": False}),
    "lraspp_mobilenet": ("segmentation.lraspp_mobilenet_v3_large", {"weights_backbone": None}),
    "mobilenet_v2_tv": ("mobilenet_v2", {}),
    "shufflenet_v2": ("shufflenet_v2_x1_0", {}),
    "squeezenet": ("squeezenet1_1", {}),
}
# Folder: (configuration and model in transformers, options, number of tokens or shape of the floating-point input).
_SMALL = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}
TRANSFORMERS = {
    "albert_128": ("AlbertConfig", "AlbertModel", {**_SMALL, "embedding_size": 128}, 128),
    "clip_vision": ("CLIPVisionConfig", "CLIPVisionModel", {**_SMALL, "patch_size": 32}, (1, 3, 224, 224)),
    "distilbert_128": ("DistilBertConfig", "DistilBertModel", {"dim": 384, "n_layers": 6, "n_heads": 12, "hidden_dim": 1536}, 128),
    "gpt2_64": ("GPT2Config", "GPT2Model", {"n_embd": 384, "n_layer": 6, "n_head": 6, "use_cache": False}, 64),
    "minilm_256": ("BertConfig", "BertModel", _SMALL, 256),
    "roberta_512": ("RobertaConfig", "RobertaModel", {**_SMALL, "num_hidden_layers": 3, "max_position_embeddings": 514}, 512),
    "segformer_b0": ("SegformerConfig", "SegformerForSemanticSegmentation", {}, (1, 3, 256, 256)),
    "wav2vec2": ("Wav2Vec2Config", "Wav2Vec2Model", {**_SMALL, "num_hidden_layers": 4, "num_attention_heads": 6}, (1, 16000)),
    "whisper_encoder": ("WhisperConfig", "models.whisper.modeling_whisper.WhisperEncoder", {}, (1, 80, 3000)),
}
# Functions of wild_networks.py.
NETWORKS = [
    "bilstm_tagger",
    "conv3d_small",
    "conv_tasnet",
    "crnn",
    "deconv_gan",
    "diffusion_block",
    "gru_decoder",
    "mel_classifier",
    "pointnet",
    "style_transfer",
    "super_resolution",
    "tcn",
    "unet",
    "wavenet",
]
NAMES = sorted([*TIMM, *TORCHVISION, *TRANSFORMERS, *NETWORKS])
