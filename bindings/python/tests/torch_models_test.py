"""Models of torch with random weights equal eager execution, exported and by torch.compile. torch_models_test.py"""

import sys
import unittest

import belay

try:
    import torch
except ImportError:
    print("skipped: torch is not installed (--test_env=BELAY_PYTHON=<interpreter with torch>)")
    sys.exit(0)

nn = torch.nn


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 3, 3, padding=1), nn.Conv2d(3, 3, 3, padding=1)
        self.norm = nn.BatchNorm2d(3)

    def forward(self, x):
        return torch.relu(x + self.second(torch.relu(self.norm(self.first(x)))))


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.layers, self.head = kind(8, 16, 2, batch_first=True), nn.Linear(16, 4)

    def forward(self, x):
        return self.head(self.layers(x)[0])


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(100, 16), nn.Linear(16, 3)

    def forward(self, tokens):
        return self.head(self.words(tokens).mean(1)).log_softmax(-1)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(16, 48)

    def forward(self, x):
        q, k, v = self.project(x).reshape(*x.shape[:2], 3, 2, 8).permute(2, 0, 3, 1, 4)
        return nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.up = nn.Conv2d(1, 4, 3, stride=2, padding=1), nn.ConvTranspose2d(4, 1, 2, stride=2)

    def forward(self, x):
        return torch.cat([x, self.up(nn.functional.gelu(self.down(x)))], 1)


class Pairs(nn.Module):
    """Arguments and results with structure."""

    def forward(self, a, *, b):
        return {"sum": a + b, "top": tuple(torch.topk(a, 2))}


MODELS = {
    "mlp": lambda: (nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4)), (torch.randn(2, 8),)),
    "cnn": lambda: (
        nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.Hardswish(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5)),
        (torch.randn(2, 3, 16, 16),),
    ),
    "residual": lambda: (Residual(), (torch.randn(1, 3, 8, 8),)),
    "lstm": lambda: (Recurrent(nn.LSTM), (torch.randn(2, 7, 8),)),
    "gru": lambda: (Recurrent(nn.GRU), (torch.randn(2, 7, 8),)),
    "classifier": lambda: (Classifier(), (torch.randint(0, 100, (2, 12)),)),
    "attention": lambda: (Attention(), (torch.randn(2, 6, 16),)),
    "encoder": lambda: (nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), (torch.randn(2, 6, 16),)),
    "unet": lambda: (Unet(), (torch.randn(1, 1, 8, 8),)),
    "temporal": lambda: (
        nn.Sequential(nn.Conv1d(4, 8, 3, dilation=2), nn.LeakyReLU(), nn.GroupNorm(2, 8), nn.Conv1d(8, 4, 1)),
        (torch.randn(1, 4, 20),),
    ),
}


class TorchModelsTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        torch._dynamo.reset()

    def check(self, make, run):
        model, args = make()
        model = model.eval()
        with torch.no_grad():
            torch.testing.assert_close(run(model, args)(*args), model(*args), atol=1e-5, rtol=1e-4)

    def test_exported_models_equal_eager(self):
        for name, make in MODELS.items():
            with self.subTest(name):
                self.check(make, lambda model, args: belay.lower(torch.export.export(model, args)))

    def test_compiled_models_equal_eager(self):
        for name, make in MODELS.items():
            with self.subTest(name):
                torch._dynamo.reset()
                self.check(make, lambda model, args: torch.compile(model, backend=belay.compile))

    def test_arguments_and_results_keep_their_structure(self):
        a, b = torch.randn(2, 5), torch.randn(2, 5)
        result = belay.lower(torch.export.export(Pairs(), (a,), {"b": b}))(a, b=b)
        torch.testing.assert_close(result["sum"], a + b)
        torch.testing.assert_close(result["top"], tuple(torch.topk(a, 2)))

    def test_quantized_models_are_close_to_eager(self):
        model, args = MODELS["mlp"]()
        program = belay.lower(torch.export.export(model.eval(), args), quantize="int8-dynamic")
        with torch.no_grad():
            torch.testing.assert_close(program(*args), model(*args), atol=0.05, rtol=0.05)

    def test_compiles_dynamic_sizes_once(self):
        with torch.no_grad():
            for name, sizes in (("mlp", ((2, 8), (3, 8), (17, 8))), ("attention", ((1, 4, 16), (1, 9, 16), (1, 30, 16)))):
                with self.subTest(name):
                    torch._dynamo.reset()
                    lowered = []

                    def backend(module, inputs, **options):
                        lowered.append(module)
                        return belay.compile(module, inputs, **options)

                    model = MODELS[name]()[0].eval()
                    compiled = torch.compile(model, backend=backend, dynamic=True, options={"max_size": 64})
                    for size in sizes:
                        x = torch.randn(size)
                        torch.testing.assert_close(compiled(x), model(x), atol=1e-5, rtol=1e-4)
                    self.assertEqual(len(lowered), 1)


if __name__ == "__main__":
    unittest.main()
