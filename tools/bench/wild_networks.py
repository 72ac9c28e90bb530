"""Builds the models of wild_models.py with random weights. Runs in the peers' Python.

The networks are of kinds that the libraries have fewer of: each function without a parameter returns a model and its inputs.
"""

import operator

import torch
from torch import nn
from torch.nn import functional

import wild_models


class Entry(nn.Module):
    """One tensor of a model's dictionary or tuple."""

    def __init__(self, model, key):
        super().__init__()
        self.model, self.key = model, key

    def forward(self, *inputs):
        return self.model(*inputs)[self.key]


def build(folder):
    """The model and its inputs; None for an unknown name."""
    if folder in wild_models.TIMM:
        import timm

        name, size = wild_models.TIMM[folder]
        return timm.create_model(name), (torch.randn(1, 3, size, size),)
    if folder in wild_models.TORCHVISION:
        import torchvision

        name, options = wild_models.TORCHVISION[folder]
        model = operator.attrgetter(name)(torchvision.models)(weights=None, **options)
        return (Entry(model, "out") if name.startswith("segmentation.") else model), (torch.randn(1, 3, 224, 224),)
    if folder in wild_models.TRANSFORMERS:
        import transformers

        config, name, options, shape = wild_models.TRANSFORMERS[folder]
        model = operator.attrgetter(name)(transformers)(getattr(transformers, config)(**options))
        inputs = torch.randint(0, 1000, (1, shape)) if isinstance(shape, int) else torch.randn(shape)
        return Entry(model.eval(), 0), (inputs,)
    return globals()[folder]() if folder in wild_models.NETWORKS else None


class Apply(nn.Module):
    """A function as a layer."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


class Add(nn.Module):
    """x + layers(x)"""

    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.layers(x)


class Recurrent(nn.Module):
    """All states of a recurrent layer."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0]


def _conv_norm(channels, out):
    return [nn.Conv2d(channels, out, 3, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU()]


class UNet(nn.Module):
    def __init__(self, widths=(32, 64, 128, 256)):
        super().__init__()
        double = lambda c, out: nn.Sequential(*_conv_norm(c, out), *_conv_norm(out, out))
        self.down = nn.ModuleList(double(c, out) for c, out in zip((3,) + widths[:-1], widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(c, out, 2, 2) for c, out in zip(widths[:0:-1], widths[-2::-1]))
        self.mix = nn.ModuleList(double(2 * out, out) for out in widths[-2::-1])
        self.head = nn.Conv2d(widths[0], 2, 1)

    def forward(self, x):
        kept = []
        for i, layer in enumerate(self.down):
            x = layer(x if i == 0 else functional.max_pool2d(x, 2))
            kept.append(x)
        kept.pop()
        for up, mix in zip(self.up, self.mix):
            x = mix(torch.cat([kept.pop(), up(x)], 1))
        return self.head(x)


def unet():
    return UNet(), (torch.randn(1, 3, 192, 192),)


def _temporal(channels, hidden, width, dilation):
    pad = dilation * (width - 1) // 2
    depthwise = nn.Conv1d(hidden, hidden, width, padding=pad, dilation=dilation, groups=hidden)
    norm = lambda: [nn.PReLU(), nn.GroupNorm(1, hidden)]
    return Add(nn.Conv1d(channels, hidden, 1), *norm(), depthwise, *norm(), nn.Conv1d(hidden, channels, 1))


def tcn():
    layers = [_temporal(128, 256, 3, 2**i) for i in range(6)]
    return nn.Sequential(nn.Conv1d(80, 128, 1), *layers, nn.Conv1d(128, 80, 1), nn.Sigmoid()), (torch.randn(1, 80, 400),)


class ConvTasNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Conv1d(1, 256, 16, 8), nn.ConvTranspose1d(256, 1, 16, 8)
        self.mask = nn.Sequential(nn.GroupNorm(1, 256), nn.Conv1d(256, 128, 1), *[_temporal(128, 256, 3, 2**i) for i in range(4)], nn.Conv1d(128, 256, 1))

    def forward(self, x):
        x = functional.relu(self.encoder(x))
        return self.decoder(x * torch.sigmoid(self.mask(x)))


def conv_tasnet():
    return ConvTasNet(), (torch.randn(1, 1, 8000),)


class Diffusion(nn.Module):
    """A residual block with a time embedding, and attention over the pixels."""

    def __init__(self, channels):
        super().__init__()
        self.first = nn.Sequential(nn.GroupNorm(32, channels), nn.SiLU(), nn.Conv2d(channels, channels, 3, padding=1))
        self.second = nn.Sequential(nn.GroupNorm(32, channels), nn.SiLU(), nn.Conv2d(channels, channels, 3, padding=1))
        self.time, self.norm = nn.Linear(256, channels), nn.GroupNorm(32, channels)
        self.attention = nn.MultiheadAttention(channels, 4, batch_first=True)

    def forward(self, x, time):
        x = x + self.second(self.first(x) + self.time(functional.silu(time))[:, :, None, None])
        tokens = self.norm(x).flatten(2).transpose(1, 2)
        return x + self.attention(tokens, tokens, tokens, need_weights=False)[0].transpose(1, 2).reshape(x.shape)


class DiffusionBlocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Conv2d(4, 128, 3, padding=1), nn.Conv2d(128, 4, 3, padding=1)
        self.blocks = nn.ModuleList(Diffusion(128) for _ in range(3))

    def forward(self, x, time):
        x = self.first(x)
        for block in self.blocks:
            x = block(x, time)
        return self.last(x)


def diffusion_block():
    return DiffusionBlocks(), (torch.randn(1, 4, 32, 32), torch.randn(1, 256))


def conv3d_small():
    block = lambda c, out: [nn.Conv3d(c, out, 3, padding=1), nn.BatchNorm3d(out), nn.ReLU()]
    head = [nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(64, 10)]
    return nn.Sequential(*block(3, 32), nn.MaxPool3d((1, 2, 2)), *block(32, 64), *head), (torch.randn(1, 3, 8, 56, 56),)


def deconv_gan():
    up = lambda c, out, stride, pad: [nn.ConvTranspose2d(c, out, 4, stride, pad), nn.BatchNorm2d(out), nn.ReLU()]
    layers = [*up(64, 256, 1, 0), *up(256, 128, 2, 1), *up(128, 64, 2, 1), nn.ConvTranspose2d(64, 3, 4, 2, 1), nn.Tanh()]
    return nn.Sequential(*layers), (torch.randn(1, 64, 8, 8),)


def style_transfer():
    def block(c, out, size, stride=1):
        return [nn.ReflectionPad2d(size // 2), nn.Conv2d(c, out, size, stride), nn.InstanceNorm2d(out, affine=True), nn.ReLU()]

    body = [Add(*block(64, 64, 3)) for _ in range(3)]
    up = [nn.Upsample(scale_factor=2), *block(64, 32, 3), nn.Upsample(scale_factor=2), *block(32, 16, 3)]
    last = [nn.ReflectionPad2d(4), nn.Conv2d(16, 3, 9)]
    return nn.Sequential(*block(3, 16, 9), *block(16, 32, 3, 2), *block(32, 64, 3, 2), *body, *up, *last), (torch.randn(1, 3, 256, 256),)


def super_resolution():
    body = [Add(nn.Conv2d(48, 48, 3, padding=1), nn.LeakyReLU(0.1), nn.Conv2d(48, 48, 3, padding=1)) for _ in range(4)]
    return nn.Sequential(nn.Conv2d(3, 48, 3, padding=1), *body, nn.Conv2d(48, 48, 3, padding=1), nn.PixelShuffle(4)), (torch.randn(1, 3, 96, 96),)


class WaveNet(nn.Module):
    def __init__(self, channels=64):
        super().__init__()
        self.first, self.last = nn.Conv1d(1, channels, 1), nn.Sequential(nn.ReLU(), nn.Conv1d(channels, 128, 1), nn.ReLU(), nn.Conv1d(128, 256, 1))
        self.gates = nn.ModuleList(nn.Conv1d(channels, 2 * channels, 2, dilation=2**i) for i in range(8))
        self.out = nn.ModuleList(nn.Conv1d(channels, 2 * channels, 1) for _ in range(8))

    def forward(self, x):
        x, skips = self.first(x), 0
        for i, (gate, out) in enumerate(zip(self.gates, self.out)):
            a, b = gate(functional.pad(x, (2**i, 0))).chunk(2, 1)
            residual, skip = out(torch.tanh(a) * torch.sigmoid(b)).chunk(2, 1)
            x, skips = x + residual, skips + skip
        return self.last(skips)


def wavenet():
    return WaveNet(), (torch.randn(1, 1, 2000),)


def crnn():
    pool = lambda *size: nn.MaxPool2d(size, size)
    layers = [*_conv_norm(1, 64), pool(2, 2), *_conv_norm(64, 128), pool(2, 2), *_conv_norm(128, 256), pool(2, 1), *_conv_norm(256, 256), pool(4, 1)]
    columns = Apply(lambda x: x.squeeze(2).transpose(1, 2))
    return nn.Sequential(*layers, columns, Recurrent(nn.LSTM(256, 128, bidirectional=True, batch_first=True)), nn.Linear(256, 80)), (torch.randn(1, 1, 32, 128),)


def bilstm_tagger():
    layers = [nn.Embedding(8000, 128), Recurrent(nn.LSTM(128, 192, 2, bidirectional=True, batch_first=True)), nn.Linear(384, 40), nn.LogSoftmax(-1)]
    return nn.Sequential(*layers), (torch.randint(0, 8000, (1, 40)),)


def gru_decoder():
    return nn.Sequential(nn.Linear(80, 256), nn.ReLU(), Recurrent(nn.GRU(256, 256, 2, batch_first=True)), nn.Linear(256, 80)), (torch.randn(1, 60, 80),)


class MelClassifier(nn.Module):
    """A log spectrogram by STFT in front of a small convolutional network."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(400))
        self.register_buffer("mel", torch.rand(201, 64) / 201)
        pools = [nn.MaxPool2d(2)]
        self.network = nn.Sequential(*_conv_norm(1, 32), *pools, *_conv_norm(32, 64), *pools, *_conv_norm(64, 128), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 50))

    def forward(self, x):
        spectrum = torch.stft(x, 400, 160, window=self.window, return_complex=True)
        power = (spectrum.real**2 + spectrum.imag**2).transpose(1, 2)
        return self.network(torch.log(power @ self.mel + 1e-6)[:, None])


def mel_classifier():
    return MelClassifier(), (torch.randn(1, 16000),)


def pointnet():
    block = lambda c, out: [nn.Conv1d(c, out, 1), nn.BatchNorm1d(out), nn.ReLU()]
    head = [nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 40)]
    return nn.Sequential(*block(3, 64), *block(64, 128), *block(128, 1024), Apply(lambda x: x.amax(2)), *head), (torch.randn(1, 3, 1024),)
