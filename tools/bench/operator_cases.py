"""The operators and short idioms that operators.py times."""


def cases(torch):
    """Returns {name: (module or function, shapes of its random inputs)}.

    A shape is a tuple, or a function that makes the tensor.
    """
    from wild_networks import Recurrent

    nn = torch.nn
    f = nn.functional
    rand = torch.randn

    class Between(nn.Module):
        """A function between two convolutions: the backend chooses the layout."""

        def __init__(self, channels, function):
            super().__init__()
            self.before = nn.Conv2d(channels, channels, 1)
            self.after = nn.Conv2d(channels, channels, 1)
            self.function = function

        def forward(self, x):
            return self.after(self.function(self.before(x)))

    def index(count, limit):
        return lambda: torch.randint(0, limit, (count,))

    def positive(*shape):
        return lambda: rand(*shape).abs() + 0.1

    tokens, image, wide = (197, 768), (1, 64, 56, 56), (1, 197, 3072)
    table = {}
    # Pointwise: 65,536 elements, in the second-level cache.
    for name in (
        "abs neg sqrt rsqrt reciprocal exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh asin acos "
        "atan asinh acosh atanh erf erfc sigmoid floor ceil round trunc frac sign square isnan"
    ).split():
        table[name] = (getattr(torch, name), [positive(65536) if name in ("sqrt", "rsqrt", "log", "log2", "log10", "acosh") else (65536,)])
    for name in (
        "relu relu6 silu gelu mish softplus elu selu celu hardswish hardsigmoid hardtanh leaky_relu logsigmoid "
        "softsign tanhshrink softshrink hardshrink"
    ).split():
        table[name] = (getattr(f, name), [(65536,)])
    table["gelu_tanh"] = (lambda x: f.gelu(x, approximate="tanh"), [(65536,)])
    table["gelu_large"] = (f.gelu, [wide])
    table["silu_large"] = (f.silu, [(1, 128, 2048)])
    table["pow_0.75"] = (lambda x: x.abs().pow(0.75), [(65536,)])
    table["pow_3"] = (lambda x: x.pow(3), [(65536,)])
    table["pow_tensor"] = (lambda x, y: x.abs().pow(y), [(65536,), (65536,)])
    for name in "add sub mul div maximum minimum atan2 hypot fmod remainder copysign eq lt logical_and".split():
        table[name] = (getattr(torch, name), [(65536,), (65536,)])
    table["add_large"] = (torch.add, [(1, 256, 56, 56)] * 2)
    table["lerp"] = (lambda x, y: torch.lerp(x, y, 0.3), [(65536,)] * 2)
    table["clamp"] = (lambda x: x.clamp(-1, 1), [(65536,)])
    table["where"] = (lambda x, y: torch.where(x > 0, x, y), [(1, 256, 56, 56)] * 2)
    table["masked_fill"] = (lambda x, y: x.masked_fill(y > 0, -1.0), [(1, 256, 56, 56)] * 2)
    table["smooth_l1"] = (f.smooth_l1_loss, [(65536,)] * 2)
    table["mse"] = (f.mse_loss, [(65536,)] * 2)
    table["glu"] = (lambda x: f.glu(x, 1), [(1, 512, 400)])
    table["geglu"] = (lambda x: x.chunk(2, -1)[0] * f.gelu(x.chunk(2, -1)[1]), [(1, 197, 2048)])
    table["swiglu"] = (lambda x, y: f.silu(x) * y, [(1, 128, 2048)] * 2)
    table["chain"] = (lambda x, y: (x * 0.5 + y).clamp(-1, 1) * torch.sigmoid(x) - y / 3, [(1, 256, 56, 56)] * 2)
    table["to_int8_and_back"] = (lambda x: (x * 20).round().clamp(-128, 127).to(torch.int8).float() / 20, [(65536,)])
    table["to_bfloat16_and_back"] = (lambda x: x.bfloat16().float(), [(65536,)])
    # Broadcasts.
    for name, shape in {
        "nc11": (1, 256, 1, 1), "1c11": (1, 256, 1, 1), "n1hw": (1, 1, 56, 56), "row": (56,), "column": (56, 1),
    }.items():
        table[f"mul_{name}"] = (torch.mul, [(1, 256, 56, 56), shape])
    table["outer_sum"] = (lambda x, y: x[:, None] + y[None], [(512,), (512,)])
    table["outer"] = (torch.outer, [(512,), (512,)])
    table["bias_tokens"] = (torch.add, [tokens, (768,)])
    table["scale_channels_between"] = (Between(96, lambda x: x * x.mean((2, 3), keepdim=True)), [(1, 96, 56, 56)])
    # Reductions.
    for name, dims in {"dim0": (0,), "dim1": (1,), "all": (0, 1)}.items():
        table[f"sum_{name}"] = (lambda x, d=dims: x.sum(d), [(1024, 1024)])
        table[f"mean_{name}_small"] = (lambda x, d=dims: x.mean(d), [(128, 512)])
        table[f"amax_{name}"] = (lambda x, d=dims: x.amax(d), [(512, 512)])
    table["global_mean"] = (lambda x: x.mean((2, 3)), [(1, 960, 14, 14)])
    table["mean_middle"] = (lambda x: x.mean(1), [(8, 197, 768)])
    table["var"] = (lambda x: x.var(-1), [tokens])
    table["std_dim0"] = (lambda x: x.std(0), [(512, 512)])
    table["norm_2"] = (lambda x: x.norm(dim=-1), [tokens])
    table["normalize"] = (lambda x: f.normalize(x, dim=-1), [tokens])
    table["prod"] = (lambda x: x.prod(-1), [(64, 1000)])
    table["any"] = (lambda x: (x > 3).any(-1), [(512, 512)])
    table["argmax"] = (lambda x: x.argmax(-1), [(64, 1000)])
    table["argmax_dim1"] = (lambda x: x.argmax(1), [(1, 21, 128, 128)])
    table["max_dim"] = (lambda x: x.max(-1)[0], [(512, 512)])
    table["logsumexp"] = (lambda x: x.logsumexp(-1), [(64, 1000)])
    table["softmax"] = (lambda x: x.softmax(-1), [(12, 197, 197)])
    table["softmax_dim1"] = (lambda x: x.softmax(1), [(1, 21, 128, 128)])
    table["log_softmax"] = (lambda x: x.log_softmax(-1), [(64, 1000)])
    table["softmax_between"] = (Between(64, lambda x: x.softmax(1)), [(1, 64, 40, 40)])
    table["cumsum"] = (lambda x: x.cumsum(-1), [(64, 1000)])
    table["cumsum_dim0"] = (lambda x: x.cumsum(0), [(1000, 64)])
    table["cumprod"] = (lambda x: x.cumprod(-1), [(64, 1000)])
    table["cummax"] = (lambda x: x.cummax(-1)[0], [(64, 1000)])
    table["logcumsumexp"] = (lambda x: x.logcumsumexp(-1), [(64, 1000)])
    # Norms.
    table["layer_norm"] = (nn.LayerNorm(768), [(1,) + tokens])
    table["layer_norm_channels"] = (
        lambda x, m=nn.LayerNorm(96): m(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2), [(1, 96, 56, 56)])
    table["rms_norm"] = (nn.RMSNorm(768), [(1,) + tokens])
    table["group_norm"] = (nn.GroupNorm(8, 64), [image])
    table["group_norm_silu_between"] = (Between(128, lambda x: f.silu(f.group_norm(x, 32))), [(1, 128, 32, 32)])
    table["instance_norm"] = (nn.InstanceNorm2d(64, affine=True), [image])
    table["batch_norm"] = (nn.BatchNorm2d(64), [image])
    table["batch_norm_relu_1d"] = (nn.Sequential(nn.BatchNorm1d(256), nn.ReLU()), [(1, 256, 400)])
    table["local_response_norm"] = (nn.LocalResponseNorm(5), [image])
    table["grn_between"] = (
        Between(96, lambda x: x * x.norm(dim=(2, 3), keepdim=True) /
                (x.norm(dim=(2, 3), keepdim=True).mean(1, keepdim=True) + 1e-6)), [(1, 96, 28, 28)])
    # Products.
    table["mm_square"] = (torch.mm, [(256, 256)] * 2)
    table["mm_tall"] = (torch.mm, [(2048, 64), (64, 64)])
    table["mm_skinny"] = (torch.mm, [(8, 1024), (1024, 512)])
    table["mv"] = (torch.mv, [(1024, 1024), (1024,)])
    table["dot"] = (torch.dot, [(65536,)] * 2)
    table["bmm"] = (torch.bmm, [(12, 197, 64), (12, 64, 197)])
    table["bmm_scores"] = (lambda q, k: q @ k.transpose(-1, -2), [(12, 197, 64)] * 2)
    table["bmm_small"] = (torch.bmm, [(256, 16, 16)] * 2)
    table["linear"] = (nn.Linear(768, 768), [tokens])
    table["linear_1"] = (nn.Linear(1024, 1024), [(1, 1024)])
    table["linear_5"] = (nn.Linear(1024, 1024), [(5, 1024)])
    table["linear_gelu"] = (nn.Sequential(nn.Linear(768, 3072), nn.GELU()), [(1,) + tokens])
    table["linear_few_outputs"] = (nn.Linear(512, 4), [(256, 512)])
    table["einsum_bqhd"] = (lambda q, k: torch.einsum("bqhd,bkhd->bhqk", q, k), [(1, 197, 12, 64)] * 2)
    table["einsum_outer"] = (lambda x, y: torch.einsum("bi,bj->bij", x, y), [(16, 128), (16, 128)])
    table["einsum_attend"] = (lambda a, v: torch.einsum("bhqk,bkhd->bqhd", a, v), [(1, 12, 197, 197), (1, 197, 12, 64)])
    table["cdist"] = (torch.cdist, [(300, 64)] * 2)
    table["cosine_similarity"] = (lambda x, y: f.cosine_similarity(x, y, -1), [tokens, tokens])
    table["bilinear"] = (nn.Bilinear(32, 32, 32), [(64, 32), (64, 32)])
    # Attention.
    for name, shape, causal in (
        ("512_causal", (1, 8, 512, 64), True), ("197", (1, 12, 197, 64), False), ("2048", (1, 2, 2048, 64), False),
        ("windows_49", (64, 3, 49, 32), False), ("heads_of_4", (1, 8, 1024, 4), False), ("heads_of_8", (1, 8, 256, 8), False),
        ("heads_of_128", (1, 4, 256, 128), True),
    ):
        table[f"sdpa_{name}"] = (lambda q, k, v, c=causal: f.scaled_dot_product_attention(q, k, v, is_causal=c), [shape] * 3)
    table["sdpa_mask"] = (
        lambda q, k, v, m: f.scaled_dot_product_attention(q, k, v, attn_mask=m), [(1, 8, 256, 64)] * 3 + [(1, 1, 256, 256)])
    table["attention_by_hand"] = (
        lambda q, k, v: ((q @ k.transpose(-1, -2)) * 0.125).softmax(-1) @ v, [(1, 12, 197, 64)] * 3)
    table["multihead"] = (
        lambda x, m=nn.MultiheadAttention(256, 8, batch_first=True).eval(): m(x, x, x, need_weights=False)[0], [(1, 100, 256)])

    def rope(x, c, s):
        h = x.shape[-1] // 2
        return torch.cat((x[..., :h] * c - x[..., h:] * s, x[..., h:] * c + x[..., :h] * s), -1)

    table["rope"] = (rope, [(1, 16, 128, 64), (128, 32), (128, 32)])
    # Convolutions: input, output channels, window, options, image.
    for name, i, o, k, options, shape in (
        ("1x1", 256, 256, 1, {}, (28, 28)), ("1x1_s2", 256, 512, 1, {"stride": 2}, (28, 28)),
        ("1x1_wide", 64, 256, 1, {}, (56, 56)), ("1x1_small_image", 960, 160, 1, {}, (7, 7)),
        ("3x3_64", 64, 64, 3, {"padding": 1}, (56, 56)), ("3x3_512", 512, 512, 3, {"padding": 1}, (7, 7)),
        ("3x3_s2", 128, 128, 3, {"padding": 1, "stride": 2}, (56, 56)), ("3x3_dilated", 64, 64, 3, {"padding": 4, "dilation": 4}, (56, 56)),
        ("3x3_32", 32, 32, 3, {"padding": 1}, (112, 112)), ("3x3_rgb", 3, 32, 3, {"padding": 1}, (224, 224)),
        ("3x3_rgb_s2", 3, 32, 3, {"padding": 1, "stride": 2}, (224, 224)), ("7x7_rgb_s2", 3, 64, 7, {"padding": 3, "stride": 2}, (224, 224)),
        ("4x4_rgb_s4", 3, 96, 4, {"stride": 4}, (224, 224)), ("16x16_rgb_s16", 3, 384, 16, {"stride": 16}, (224, 224)),
        ("3x3_gray", 1, 32, 3, {"padding": 1}, (112, 112)), ("3x3_to_rgb", 32, 3, 3, {"padding": 1}, (112, 112)),
        ("5x5", 48, 64, 5, {"padding": 2}, (35, 35)), ("1x7", 128, 192, (1, 7), {"padding": (0, 3)}, (17, 17)),
        ("7x1", 128, 192, (7, 1), {"padding": (3, 0)}, (17, 17)), ("odd_channels", 19, 37, 3, {"padding": 1}, (40, 40)),
        ("groups_8", 128, 128, 3, {"padding": 1, "groups": 8}, (56, 56)), ("groups_32", 256, 256, 3, {"padding": 1, "groups": 32}, (28, 28)),
        ("groups_wide", 320, 320, 3, {"padding": 1, "groups": 40}, (14, 14)), ("groups_1x1", 240, 240, 1, {"groups": 3}, (28, 28)),
        ("groups_s2", 128, 128, 3, {"padding": 1, "groups": 8, "stride": 2}, (56, 56)),
        ("reflect", 32, 32, 3, {"padding": 1, "padding_mode": "reflect"}, (64, 64)),
    ):
        table[f"conv_{name}"] = (nn.Conv2d(i, o, k, **options), [(1, i) + shape])
    for name, c, k, options, shape in (
        ("3x3", 96, 3, {}, (56, 56)), ("3x3_s2", 96, 3, {"stride": 2}, (112, 112)), ("5x5", 240, 5, {}, (28, 28)),
        ("5x5_s2", 96, 5, {"stride": 2}, (56, 56)), ("7x7", 96, 7, {}, (56, 56)), ("11x11", 64, 11, {}, (28, 28)),
        ("3x3_dilated", 96, 3, {"dilation": 2}, (56, 56)), ("3x3_small", 960, 3, {}, (7, 7)), ("1x11", 64, (1, 11), {}, (28, 28)),
    ):
        size = k if isinstance(k, tuple) else (k, k)
        padding = tuple(d // 2 * options.get("dilation", 1) for d in size)
        table[f"depthwise_{name}"] = (nn.Conv2d(c, c, k, padding=padding, groups=c, **options), [(1, c) + shape])
    table["depthwise_multiplier_2"] = (nn.Conv2d(64, 128, 3, padding=1, groups=64), [image])
    for name, layer, shape in (
        ("k3", nn.Conv1d(256, 256, 3, padding=1), (1, 256, 400)), ("k10_s5_wave", nn.Conv1d(1, 512, 10, 5), (1, 1, 16000)),
        ("k3_s2", nn.Conv1d(512, 512, 3, 2), (1, 512, 400)), ("k1", nn.Conv1d(256, 512, 1), (1, 256, 400)),
        ("depthwise_31", nn.Conv1d(256, 256, 31, padding=15, groups=256), (1, 256, 400)),
        ("dilated", nn.Conv1d(64, 64, 3, dilation=8, padding=8), (1, 64, 2000)),
        ("groups_16_k128", nn.Conv1d(768, 768, 128, padding=64, groups=16), (1, 768, 49)),
    ):
        table[f"conv1d_{name}"] = (layer, [shape])
    table["conv3d"] = (nn.Conv3d(32, 64, 3, padding=1), [(1, 32, 8, 28, 28)])
    table["conv3d_rgb"] = (nn.Conv3d(3, 32, 3, padding=1), [(1, 3, 8, 56, 56)])
    table["conv3d_1x3x3"] = (nn.Conv3d(64, 64, (1, 3, 3), padding=(0, 1, 1)), [(1, 64, 8, 28, 28)])
    table["conv3d_3x1x1"] = (nn.Conv3d(64, 64, (3, 1, 1), padding=(1, 0, 0)), [(1, 64, 8, 28, 28)])
    table["conv3d_depthwise"] = (nn.Conv3d(64, 64, 3, padding=1, groups=64), [(1, 64, 8, 28, 28)])
    table["deconv_4x4_s2"] = (nn.ConvTranspose2d(128, 64, 4, 2, 1), [(1, 128, 32, 32)])
    table["deconv_2x2_s2"] = (nn.ConvTranspose2d(128, 64, 2, 2), [(1, 128, 28, 28)])
    table["deconv_3x3_s2"] = (nn.ConvTranspose2d(64, 64, 3, 2, 1, 1), [(1, 64, 28, 28)])
    table["deconv_to_rgb"] = (nn.ConvTranspose2d(64, 3, 4, 2, 1), [(1, 64, 32, 32)])
    table["deconv_depthwise"] = (nn.ConvTranspose2d(64, 64, 4, 2, 1, groups=64), [(1, 64, 28, 28)])
    table["deconv1d"] = (nn.ConvTranspose1d(256, 128, 16, 8, 4), [(1, 256, 100)])
    table["prelu_between"] = (nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.PReLU(64), nn.Conv2d(64, 64, 3, padding=1)), [image])
    # Pools and resizing.
    table["max_pool_3x3_s2"] = (nn.MaxPool2d(3, 2, 1), [(1, 64, 112, 112)])
    table["max_pool_2x2"] = (nn.MaxPool2d(2), [(1, 64, 112, 112)])
    table["max_pool_5x5_s1"] = (nn.MaxPool2d(5, 1, 2), [(1, 128, 20, 20)])
    table["max_pool_1d"] = (nn.MaxPool1d(2), [(1, 256, 400)])
    table["max_pool_3d"] = (nn.MaxPool3d(2), [(1, 32, 8, 56, 56)])
    table["avg_pool_3x3_s1"] = (nn.AvgPool2d(3, 1, 1), [(1, 192, 35, 35)])
    table["avg_pool_2x2"] = (nn.AvgPool2d(2), [(1, 128, 56, 56)])
    table["avg_pool_1d"] = (nn.AvgPool1d(4), [(1, 256, 400)])
    table["adaptive_7"] = (nn.AdaptiveAvgPool2d(7), [(1, 512, 14, 14)])
    table["adaptive_uneven"] = (nn.AdaptiveAvgPool2d(3), [(1, 256, 14, 14)])
    table["avg_pool_between"] = (Between(64, lambda x: f.avg_pool2d(x, 2)), [image])
    for mode in ("nearest", "bilinear", "bicubic", "area"):
        table[f"resize_{mode}"] = (lambda x, m=mode: f.interpolate(x, (112, 112), mode=m), [image])
        table[f"resize_rgb_{mode}"] = (lambda x, m=mode: f.interpolate(x, (224, 224), mode=m), [(1, 3, 180, 320)])
    table["resize_bilinear_antialias"] = (lambda x: f.interpolate(x, (224, 224), mode="bilinear", antialias=True), [(1, 3, 480, 640)])
    table["resize_bicubic_antialias"] = (lambda x: f.interpolate(x, (224, 224), mode="bicubic", antialias=True), [(1, 3, 480, 640)])
    table["resize_linear_1d"] = (lambda x: f.interpolate(x, 800, mode="linear"), [(1, 64, 400)])
    table["resize_trilinear"] = (lambda x: f.interpolate(x, (16, 28, 28), mode="trilinear"), [(1, 32, 8, 14, 14)])
    table["upsample_nearest_between"] = (Between(64, lambda x: f.interpolate(x, scale_factor=2.0)), [(1, 64, 40, 40)])
    table["upsample_bilinear_between"] = (Between(64, lambda x: f.interpolate(x, scale_factor=2.0, mode="bilinear")), [(1, 64, 40, 40)])
    table["grid_sample"] = (lambda x, g: f.grid_sample(x, g.tanh()), [(1, 32, 64, 64), (1, 64, 64, 2)])
    table["grid_sample_nearest"] = (lambda x, g: f.grid_sample(x, g.tanh(), mode="nearest"), [(1, 32, 64, 64), (1, 64, 64, 2)])
    # Movement.
    table["cat_channels"] = (lambda x, y: torch.cat((x, y), 1), [(1, 128, 56, 56)] * 2)
    table["cat_last"] = (lambda x, y: torch.cat((x, y), -1), [tokens, tokens])
    table["stack"] = (lambda x, y: torch.stack((x, y), -1), [(65536,)] * 2)
    table["permute_nchw_nhwc"] = (lambda x: x.permute(0, 2, 3, 1).contiguous(), [image])
    table["permute_nhwc_nchw"] = (lambda x: x.permute(0, 3, 1, 2).contiguous(), [(1, 56, 56, 64)])
    table["transpose"] = (lambda x: x.t().contiguous(), [(512, 512)])
    table["transpose_heads"] = (lambda x: x.view(1, 197, 12, 64).transpose(1, 2).contiguous(), [(1,) + tokens])
    table["window_partition"] = (
        lambda x: x.view(1, 8, 7, 8, 7, 96).permute(0, 1, 3, 2, 4, 5).reshape(-1, 49, 96), [(1, 56, 56, 96)])
    table["roll"] = (lambda x: torch.roll(x, (-3, -3), (1, 2)), [(1, 56, 56, 96)])
    table["flip"] = (lambda x: x.flip(-1), [image])
    table["flip_dim0"] = (lambda x: x.flip(0), [(512, 512)])
    table["slice_step"] = (lambda x: x[..., ::2, ::2].contiguous(), [image])
    table["slice_channels"] = (lambda x: x[:, :32].contiguous(), [(2, 64, 56, 56)])
    table["focus"] = (
        lambda x: torch.cat((x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]), 1), [(1, 3, 320, 320)])
    table["pad_constant"] = (lambda x: f.pad(x, (1, 1, 1, 1)), [image])
    table["pad_reflect"] = (nn.ReflectionPad2d(3), [(1, 32, 128, 128)])
    table["pad_replicate"] = (nn.ReplicationPad2d(2), [image])
    table["pad_circular"] = (lambda x: f.pad(x, (2, 2, 2, 2), mode="circular"), [image])
    table["pixel_shuffle"] = (nn.PixelShuffle(2), [(1, 256, 64, 64)])
    table["pixel_unshuffle"] = (nn.PixelUnshuffle(2), [(1, 16, 112, 112)])
    table["channel_shuffle"] = (lambda x: x.view(1, 2, 58, 28, 28).transpose(1, 2).reshape(1, 116, 28, 28), [(1, 116, 28, 28)])
    table["repeat"] = (lambda x: x.repeat(1, 4, 1), [(1, 64, 256)])
    table["repeat_interleave"] = (lambda x: x.repeat_interleave(4, 1), [(1, 8, 128, 64)])
    table["expand_contiguous"] = (lambda x: x.expand(8, 128, 256).contiguous(), [(1, 128, 256)])
    table["unfold"] = (lambda x: f.unfold(x, 3, padding=1), [(1, 32, 56, 56)])
    table["fold"] = (lambda x: f.fold(x, (56, 56), 3, padding=1), [(1, 288, 3136)])
    table["tril"] = (torch.tril, [(1, 8, 256, 256)])
    table["meshgrid"] = (lambda x, y: torch.stack(torch.meshgrid(x, y, indexing="ij"), -1), [(160,), (160,)])
    # Indexing, sorting, spectra, recurrence.
    table["embedding"] = (nn.Embedding(8000, 256), [index(128, 8000)])
    table["embedding_bag"] = (lambda i, m=nn.EmbeddingBag(1000, 64): m(i.view(32, 16)), [index(512, 1000)])
    table["index_select"] = (lambda x, i: x.index_select(0, i), [(1000, 256), index(500, 1000)])
    table["index_columns"] = (lambda x, i: x[:, i], [(256, 1000), index(500, 1000)])
    table["gather"] = (lambda x, i: x.gather(1, i.view(64, 500)), [(64, 1000), index(32000, 1000)])
    table["index_put"] = (lambda x, i, v: x.index_put((i,), v), [(1000, 256), index(500, 1000), (500, 256)])
    table["index_add"] = (lambda x, i, v: x.index_add(0, i, v), [(1000, 256), index(500, 1000), (500, 256)])
    table["scatter_add"] = (lambda x, i, v: x.scatter_add(0, i[:, None].expand(500, 256), v), [(1000, 256), index(500, 1000), (500, 256)])
    table["one_hot"] = (lambda i: f.one_hot(i, 100).float(), [index(512, 100)])
    table["masked_mean"] = (lambda x, m: (x * (m > 0)[..., None]).sum(1) / (m > 0).sum(1, keepdim=True), [(1, 128, 384), (1, 128)])
    table["topk"] = (lambda x: x.topk(50, -1)[0], [(1, 32000)])
    table["topk_rows"] = (lambda x: x.topk(5, -1)[1], [(64, 1000)])
    table["sort"] = (lambda x: x.sort(-1)[0], [(1, 8400)])
    table["argsort_rows"] = (lambda x: x.argsort(-1), [(64, 256)])
    table["searchsorted"] = (lambda x, y: torch.searchsorted(x.sort()[0], y), [(1000,), (10000,)])
    table["bucketize"] = (lambda x, b: torch.bucketize(x, b), [(65536,), lambda: torch.linspace(-2, 2, 64)])
    table["nonzero_free_nms_iou"] = (
        lambda a: (lambda x1, y1, x2, y2: (x2 - x1).clamp(0) * (y2 - y1).clamp(0))(
            *[torch.maximum(a[:, None, i], a[None, :, i]) for i in range(4)]), [(300, 4)])
    table["stft"] = (lambda x: torch.view_as_real(torch.stft(x, 400, 160, window=torch.hann_window(400), return_complex=True)), [(1, 16000)])
    table["rfft"] = (lambda x: torch.fft.rfft(x).abs(), [(64, 512)])
    table["irfft"] = (lambda x: torch.fft.irfft(torch.fft.rfft(x) * 0.5), [(64, 512)])
    table["fft2"] = (lambda x: torch.fft.fft2(x).real, [(8, 64, 64)])
    table["lstm"] = (Recurrent(nn.LSTM(80, 256, batch_first=True)), [(1, 50, 80)])
    table["lstm_bidirectional"] = (Recurrent(nn.LSTM(128, 128, batch_first=True, bidirectional=True)), [(1, 50, 128)])
    table["gru"] = (Recurrent(nn.GRU(80, 256, batch_first=True)), [(1, 50, 80)])
    table["rnn"] = (Recurrent(nn.RNN(80, 256, batch_first=True)), [(1, 50, 80)])
    table["se_block"] = (
        Between(96, lambda x, a=nn.Conv2d(96, 24, 1), b=nn.Conv2d(24, 96, 1):
                x * torch.sigmoid(b(f.silu(a(x.mean((2, 3), keepdim=True)))))), [(1, 96, 56, 56)])
    table["inverse"] = (torch.linalg.inv, [lambda: rand(32, 32) + 8 * torch.eye(32)])
    return table
