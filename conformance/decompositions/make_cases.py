"""Writes cases/*.json: what PyTorch gives for operators that decompose.

    python make_cases.py [OP ...]

Arguments come from PyTorch's own operator database and from the table below. The format is that of
conformance/opcases. Needs the `torch` package.
"""
import base64
import glob
import json
import os
import re
import sys

import numpy as np
import torch
from torch.utils._pytree import tree_leaves

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
MOST = 3  # maximum cases per operator
ELEMENTS = 420  # maximum elements of a tensor, except in EXTRA

torch.manual_seed(0)
DTYPES = {
    torch.float32: "float32", torch.float64: "float64", torch.float16: "float16",
    torch.bfloat16: "bfloat16", torch.int8: "int8", torch.uint8: "uint8", torch.int16: "int16",
    torch.int32: "int32", torch.int64: "int64", torch.bool: "bool", torch.complex64: "complex64",
    torch.complex128: "complex128",
}


class Skip(Exception):
    pass


def enc_tensor(t):
    if t.layout != torch.strided or t.dtype not in DTYPES:
        raise Skip("tensor")
    t = t.detach().resolve_conj().resolve_neg()
    flat = torch.empty(t.numel(), dtype=t.dtype).copy_(t.reshape(-1))
    data = flat.view(torch.uint8).numpy().tobytes() if t.numel() else b""
    return {"dtype": DTYPES[t.dtype], "shape": list(t.shape),
            "data": base64.b64encode(data).decode()}


def enc_float(x):
    x = float(x)
    return "nan" if x != x else "inf" if x == np.inf else "-inf" if x == -np.inf else x.hex()


def enc(v, ty):
    if v is None:
        return {"none": True}
    if isinstance(v, torch.Tensor):
        return {"tensor": enc_tensor(v)}
    if isinstance(v, bool):
        return {"bool": v}
    if isinstance(v, int):
        return {"int": v} if not ty.startswith("float") else {"float": enc_float(v)}
    if isinstance(v, float):
        return {"float": enc_float(v)}
    if isinstance(v, complex):
        return {"complex": [enc_float(v.real), enc_float(v.imag)]}
    if isinstance(v, str):
        return {"string": v}
    if isinstance(v, torch.dtype):
        if v not in DTYPES:
            raise Skip("dtype")
        return {"scalar_type": DTYPES[v]}
    if isinstance(v, torch.device):
        return {"device": "cpu"}
    if isinstance(v, torch.memory_format):
        names = {torch.contiguous_format: "contiguous", torch.channels_last: "channels_last",
                 torch.channels_last_3d: "channels_last_3d", torch.preserve_format: "preserve"}
        return {"memory_format": names[v]}
    if isinstance(v, (list, tuple)):
        v = list(v)
        if "Optional[Tensor]" in ty or "Tensor?" in ty:
            return {"optional_tensors": [None if t is None else enc_tensor(t) for t in v]}
        if v and isinstance(v[0], torch.Tensor) or "Tensor" in ty:
            return {"tensors": [enc_tensor(t) for t in v]}
        if "float" in ty or any(isinstance(x, float) for x in v):
            return {"floats": [enc_float(x) for x in v]}
        if v and isinstance(v[0], bool):
            return {"bools": v}
        if all(isinstance(x, int) for x in v):
            return {"ints": v}
    raise Skip("value %r" % (v,))


def rows():
    """The operators that the table of decompositions has."""
    names = set()
    for path in glob.glob(os.path.join(ROOT, "exir", "decompositions", "*.cc")):
        if not path.endswith("_test.cc"):
            for m in re.finditer(r'\{\s*"aten\.(\w+)\.(\w+)"', open(path).read()):
                names.add((m.group(1), m.group(2)))
    return sorted(names)


def T(*shape, dtype=torch.float32):
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(shape, dtype=dtype)
    return torch.randint(0, 5, shape, dtype=dtype)


def I(*v):
    return torch.tensor(v, dtype=torch.int64)


C64 = torch.complex64
MORE = {  # (arguments, keywords)
    "einsum.default": [
        (("ij,jk->ik", [T(2, 3), T(3, 4)]), {}), (("bij,bjk", [T(2, 2, 3), T(2, 3, 2)]), {}),
        (("ii->i", [T(3, 3)]), {}), (("i,j->ij", [T(2), T(3)]), {}),
        (("...ij,...jk->...ik", [T(2, 1, 2, 3), T(4, 3, 2)]), {}), (("ij->", [T(2, 3)]), {}),
        (("bn,anm,bm->ba", [T(2, 3), T(5, 3, 4), T(2, 4)]), {}), (("iij->ji", [T(2, 2, 3)]), {}),
        (("b h i d, b h j d -> b h i j", [T(1, 2, 3, 4), T(1, 2, 5, 4)]), {}),
        (("ij,ij->i", [T(2, 3), T(2, 1)]), {}), (("ij,kl->ijkl", [T(2, 2), T(2, 3)]), {}),
    ],
    "tensordot.default": [((T(2, 3, 4), T(4, 3, 2), [1, 2], [1, 0]), {}), ((T(2, 3), T(3), [1], [0]), {}),
                          ((T(2, 2), T(3), [], []), {})],
    "bilinear.default": [((T(2, 3), T(2, 4), T(5, 3, 4), T(5)), {}), ((T(2, 2, 3), T(2, 2, 2), T(1, 3, 2)), {})],
    "kron.default": [((T(2, 3), T(2, 2)), {}), ((T(2), T(2, 1, 3)), {}), ((T(), T(3)), {})],
    "inner.default": [((T(2, 3), T(4, 3)), {}), ((T(3), T(3)), {}), ((T(2, 2), T()), {})],
    "linalg_multi_dot.default": [(([T(2, 3), T(3, 4), T(4, 2)],), {}), (([T(3), T(3, 2), T(2)],), {})],
    "chain_matmul.default": [(([T(2, 3), T(3, 4), T(4, 2)],), {})],
    "linalg_vecdot.default": [((T(2, 3), T(2, 3)), {}), ((T(2, 3, dtype=C64), T(2, 3, dtype=C64)), {"dim": 0})],
    "linalg_matrix_power.default": [((T(2, 3, 3), n), {}) for n in (0, 1, 5)] + [((T(3, 3), -2), {})],
    "matrix_power.default": [((T(3, 3), 3), {}), ((T(3, 3), -1), {})],
    "linalg_vander.default": [((T(4),), {}), ((T(2, 3),), {"N": 4})],
    "vander.default": [((T(4),), {}), ((T(3), 2, True), {})],
    "cross.default": [((T(2, 3), T(2, 3)), {}), ((T(3, 2, 3), T(3, 2, 3), -1), {})],
    "linalg_cross.default": [((T(2, 3), T(2, 3)), {}), ((T(3, 2), T(3, 1)), {"dim": 0})],
    "slogdet.default": [((T(3, 3),), {}), ((T(2, 2, 2),), {})],
    "linalg_slogdet.default": [((T(3, 3),), {})],
    "logdet.default": [((torch.eye(3) * 2 + 0.1,), {})],
    "linalg_solve.default": [((T(3, 3), T(3)), {}), ((T(2, 3, 3), T(2, 3, 2)), {}), ((T(3, 3), T(2, 3)), {"left": False})],
    "rsub.Scalar": [((torch.tensor([1, 5], dtype=torch.uint8), -2.0), {})],
    "affine_grid_generator.default": [((T(2, 2, 3), [2, 1, 3, 4], a), {}) for a in (True, False)] + [((T(1, 3, 4), [1, 1, 2, 2, 3], False), {})],
    "grid_sampler.default": [((T(1, 2, 3, 4), T(1, 2, 3, 2).tanh(), m, p, a), {}) for m, p, a in ((0, 0, False), (1, 1, True), (2, 2, False))],
    "upsample_nearest1d.vec": [((T(1, 2, 4), [6], None), {}), ((T(1, 2, 4), None, [1.7]), {})],
    "upsample_nearest1d.default": [((T(1, 2, 4), [6]), {}), ((T(1, 2, 5), [3]), {})],
    "upsample_nearest3d.vec": [((T(1, 2, 2, 3, 2), [3, 4, 5], None), {}), ((T(1, 1, 2, 2, 3), None, [2.0, 1.5, 2.0]), {})],
    "upsample_nearest3d.default": [((T(1, 2, 2, 3, 2), [3, 4, 5]), {})],
    "_upsample_nearest_exact1d.vec": [((T(1, 2, 4), [6], None), {}), ((T(1, 2, 4), None, [1.7]), {})],
    "_upsample_nearest_exact1d.default": [((T(1, 2, 5), [3]), {})],
    "_upsample_nearest_exact2d.vec": [((T(1, 2, 3, 4), [5, 6], None), {}), ((T(1, 2, 3, 4), None, [2.0, 1.5]), {})],
    "_upsample_nearest_exact2d.default": [((T(1, 2, 5, 4), [3, 3]), {})],
    "_upsample_nearest_exact3d.vec": [((T(1, 1, 2, 3, 4), [3, 4, 5], None), {})],
    "_upsample_nearest_exact3d.default": [((T(1, 1, 2, 3, 4), [3, 2, 5]), {})],
    "upsample_linear1d.vec": [((T(1, 2, 4), [6], a, None), {}) for a in (True, False)] + [((T(1, 2, 4), None, False, [1.7]), {})],
    "upsample_linear1d.default": [((T(1, 2, 4), [6], True), {}), ((T(1, 2, 4), [3], False), {})],
    "upsample_trilinear3d.vec": [((T(1, 1, 2, 3, 2), [3, 4, 5], a, None), {}) for a in (True, False)] + [((T(1, 1, 2, 2, 3), None, False, [2.0, 1.5, 2.0]), {})],
    "upsample_bicubic2d.vec": [((T(1, 2, 3, 4), [5, 6], a, None), {}) for a in (True, False)] + [((T(1, 1, 4, 4), None, False, [1.5, 2.0]), {})],
    "_upsample_bilinear2d_aa.vec": [((T(1, 1, 6, 6), [3, 4], False, None), {}), ((T(1, 1, 4, 4), None, True, [1.5, 0.5]), {})],
    "max_pool1d.default": [((T(2, 7), [3]), {}), ((T(1, 2, 8), [2], [1], [1], [2], True), {})],
    "max_pool1d_with_indices.default": [((T(1, 2, 8), [3], [2]), {})],
    "adaptive_max_pool1d.default": [((T(1, 2, 7), [3]), {}), ((T(2, 5), [5]), {})],
    "max_unpool2d.default": [((T(1, 1, 2, 2), I(0, 3, 9, 10).view(1, 1, 2, 2), [4, 4]), {})],
    "max_unpool3d.default": [((T(1, 1, 1, 2, 2), I(0, 3, 9, 10).view(1, 1, 1, 2, 2), [1, 4, 4], [1, 2, 2], [0, 0, 0]), {})],
    "gru_cell.default": [((T(2, 3), T(2, 4), T(12, 3), T(12, 4), T(12), T(12)), {})],
    "rnn_tanh_cell.default": [((T(2, 3), T(2, 4), T(4, 3), T(4, 4), T(4), T(4)), {}), ((T(2, 3), T(2, 4), T(4, 3), T(4, 4)), {})],
    "lstm_cell.default": [((T(2, 3), [T(2, 4), T(2, 4)], T(16, 3), T(16, 4), T(16), T(16)), {})],
    "_convolution.deprecated": [((T(1, 2, 5), T(3, 2, 3), T(3), [1], [1], [1], False, [0], 1, False, False, False), {})],
    "_convolution_mode.default": [((T(1, 2, 5), T(3, 2, 3), T(3), [1], "same", [1], 1), {}), ((T(1, 1, 4, 4), T(1, 1, 2, 2), None, [1, 1], "same", [1, 1], 1), {})],
    "thnn_conv2d.default": [((T(1, 2, 4, 4), T(1, 2, 3, 3), [3, 3], T(1), [1, 1], [1, 1]), {})],
}
LSTM = [T(16, 3), T(16, 4), T(16), T(16)]
GRU = [T(12, 3), T(12, 4), T(12), T(12)]
RNN = [T(4, 3), T(4, 4), T(4), T(4)]
MORE.update({
    "lstm.input": [((T(3, 2, 3), [T(1, 2, 4), T(1, 2, 4)], LSTM, True, 1, 0.0, False, False, False), {})],
    "gru.input": [((T(3, 2, 3), T(1, 2, 4), GRU, True, 1, 0.0, False, False, False), {}),
                  ((T(2, 3, 3), T(2, 2, 4), GRU + GRU, True, 1, 0.0, False, True, True), {})],
    "rnn_relu.input": [((T(3, 2, 3), T(1, 2, 4), RNN, True, 1, 0.0, False, False, False), {})],
    "rnn_tanh.input": [((T(3, 2, 3), T(1, 2, 4), RNN, True, 1, 0.0, False, False, False), {})],
    "conv_transpose3d.input": [((T(1, 2, 2, 2, 2), T(2, 1, 2, 2, 2), None, [2, 1, 1]), {})],
    "batch_norm.default": [((T(2, 3, 2), T(3), T(3), T(3), T(3).abs(), False, 0.1, 1e-5, False), {})],
    "instance_norm.default": [((T(2, 3, 4), T(3), T(3), None, None, True, 0.1, 1e-5, False), {})],
    "scaled_dot_product_attention.default": [((T(1, 2, 3, 4), T(1, 2, 5, 4), T(1, 2, 5, 4)), {}),
                                             ((T(1, 2, 3, 4), T(1, 2, 3, 4), T(1, 2, 3, 4), None, 0.0, True), {})],
    "meshgrid.default": [(([T(2), T(3)],), {})],
    "block_diag.default": [(([T(2, 2), T(1, 3)],), {})],
    "broadcast_tensors.default": [(([T(2, 1), T(3)],), {})],
    "cartesian_prod.default": [(([T(2), T(3)],), {})],
    "eye.default": [((3,), {})], "eye.m": [((2, 4), {})],
    "hann_window.default": [((5,), {})], "hamming_window.default": [((5,), {})],
    "blackman_window.default": [((5,), {})], "hann_window.periodic": [((5, False), {})],
    "moveaxis.int": [((T(2, 3, 4), 0, 2), {})], "movedim.int": [((T(2, 3, 4), 0, 2), {})],
    "swapaxes.default": [((T(2, 3), 0, 1), {})], "swapdims.default": [((T(2, 3), 0, 1), {})],
    "where.ScalarOther": [((T(2, 3) > 0, T(2, 3), 1.5), {})],
    "where.ScalarSelf": [((T(2, 3) > 0, 2.5, T(2, 3)), {})],
    "where.Scalar": [((T(2, 3) > 0, 1.5, 2.0), {})],
    "isin.Scalar_Tensor": [((2, I(1, 2)), {})], "isin.Tensor_Scalar": [((I(1, 2), 2), {})],
    "to.dtype": [((T(2, 3), torch.int64), {})], "type_as.default": [((T(2), I(1, 2)), {})],
    "channel_shuffle.default": [((T(1, 6, 2, 2), 3), {})],
    "native_channel_shuffle.default": [((T(1, 6, 2, 2), 2), {})],
    "floor_divide.Scalar": [((T(2, 3), 0.7), {}), ((I(7, -7), 2), {})],
    "remainder.Scalar_Tensor": [((5, T(2, 3)), {})],
    "fake_quantize_per_tensor_affine.default": [((T(2, 3), 0.1, 3, 0, 15), {})],
    "fake_quantize_per_channel_affine.default": [((T(2, 3), T(2).abs() + 0.1, I(0, 1).int(), 0, -8, 7), {})],
    "cdist.default": [((T(2, 3), T(4, 3)), {})], "_euclidean_dist.default": [((T(2, 3), T(4, 3)), {})],
    "_safe_softmax.default": [((torch.tensor([[0.0, 1.0], [-np.inf, -np.inf]]), -1), {})],
    "_weight_norm.default": [((T(3, 4), T(3, 1)), {})],
    "_unsafe_index.Tensor": [((T(3, 4), [I(0, 2), None]), {})],
    "_prelu_kernel.default": [((T(2, 3), T(1, 3)), {})],
    "pad_sequence.default": [(([T(2, 3), T(4, 3)], True), {})],
    "embedding_bag.default": [((T(4, 3), I(0, 2, 1), I(0, 1)), {})],
})
X8 = T(2, 3, 8)
SPD = T(3, 3)
SPD = SPD @ SPD.T + torch.eye(3)
BN = (T(2, 3, 2), T(3), T(3), T(3), T(3).abs())
MORE.update({
    "_native_batch_norm_legit_functional.default": [(BN + (t, 0.1, 1e-5), {}) for t in (True, False)],
    "_batch_norm_with_update_functional.default": [],
    "_batch_norm_no_update.default": [],
    "_embedding_bag_forward_only.default": [((T(4, 3), I(0, 2, 1), I(0, 1)), {})],
    "rrelu_with_noise_functional.default": [((T(2, 3), T(2, 3)), {})],
    "_add_relu.Tensor": [((T(2, 3), T(2, 3)), {"alpha": 2})],
    "_add_relu.Scalar": [],
    "_addmm_activation.default": [((T(3), T(2, 4), T(4, 3)), {}), ((T(3), T(2, 4), T(4, 3)), {"use_gelu": True})],
    "mm.dtype": [], "bmm.dtype": [], "addmm.dtype": [],
    "bucketize.Scalar": [((0.5, torch.tensor([0.0, 0.5, 1.0])), {"right": r}) for r in (True, False)],
    "searchsorted.Scalar": [((torch.tensor([0.0, 0.5, 1.0]), 0.5), {"side": "right"})],
    "_convolution.default": [((T(1, 2, 5), T(3, 2, 3), T(3), [1], [1], [1], False, [0], 1, False, False, False, True), {})],
    "complex.default": [((T(2, 3), T(3)), {}), ((T(), T()), {})],
    "polar.default": [((T(2, 3).abs(), T(2, 3)), {})],
    "empty_permuted.default": [],
    "range.default": [((1, 4), {}), ((0, 2.5), {})],
    "range.step": [((1, 2, 0.3), {}), ((5, 1, -2), {"dtype": torch.int64})],
    "tril_indices.default": [((3, 4, o), {}) for o in (0, 1, -2)] + [((4, 2, 5), {})],
    "triu_indices.default": [((3, 4, o), {}) for o in (0, 2, -1)] + [((4, 2, -7), {})],
    "fft_fftfreq.default": [((5,), {}), ((8, 0.5), {})],
    "fft_rfftfreq.default": [((5,), {}), ((8, 0.5), {})],
    "bartlett_window.default": [((5,), {})], "bartlett_window.periodic": [((n, False), {}) for n in (1, 5, 6)],
    "kaiser_window.default": [((5,), {})], "kaiser_window.periodic": [((6, False), {})],
    "kaiser_window.beta": [((5, True, 8.0), {})],
    "index_reduce.default": [((T(4, 3), 0, I(0, 2, 0), T(3, 3), r), {"include_self": i})
                             for r, i in (("prod", True), ("mean", False), ("amax", True), ("amin", False))],
    "nonzero_static.default": [((T(2, 3) > 0,), {"size": n}) for n in (2, 6)] + [((I(0, 1, 2),), {"size": 4, "fill_value": -7})],
    "unique_consecutive.default": [((I(1, 1, 2, 2, 1), True, True), {})]
                                  + [((I(1, 2, 1, 2, 0, 2, 1, 2).view(4, 2), True, True, 0), {}), ((I(1, 1, 2, 3, 3, 2).view(2, 3).double(), True, True, 1), {}),
                                     ((T(0, 3), True, True, 0), {})],
    "_unique2.default": [((I(3, 1, 2, 1, 3).view(5), True, True, True), {}), ((T(2, 3),), {})],
    "upsample_bicubic2d.default": [((T(1, 1, 3, 4), [5, 6], a), {}) for a in (True, False)],
    "upsample_trilinear3d.default": [((T(1, 1, 2, 3, 2), [3, 4, 5], a), {}) for a in (True, False)],
    "fake_quantize_per_channel_affine_cachemask.default": [((T(2, 3), T(2).abs() + 0.1, I(0, 1).int(), 0, -2, 2), {})],
    "fake_quantize_per_tensor_affine_cachemask.default": [((T(2, 3), 0.5, 1, 0, 3), {})],
    "_linalg_slogdet.default": [], "slogdet.default": [((T(3, 3),), {}), ((T(2, 2, 2),), {}), ((T(48, 48)[:20, :20] * 1e4,), {})],
    "_linalg_solve_ex.default": [], "linalg_solve_ex.default": [((T(3, 3), T(3, 2)), {}), ((T(2, 3, 3), T(2, 3)), {})],
    "linalg_solve.default": [((T(3, 3), T(3)), {}), ((T(2, 3, 3), T(2, 3, 2)), {}), ((T(3, 3), T(2, 3)), {"left": False}),
                             ((T(3, 3), T(2, 3, 2)), {})],
    "cholesky.default": [((SPD,), {}), ((SPD, True), {})],
    "cholesky_inverse.default": [((SPD.tril(),), {}), ((SPD.triu(), True), {})],
    "cholesky_solve.default": [((T(3, 2), SPD.tril()), {}), ((T(3, 2), SPD.triu(), True), {})],
    "linalg_cond.default": [((T(3, 3),), {}), ((T(3, 3), 1), {}), ((T(4, 2), -2), {})],
    "linalg_cond.p_str": [((T(3, 3), n), {}) for n in ("fro", "nuc")],
    "linalg_eigvalsh.default": [((SPD,), {}), ((SPD, "U"), {})],
    "linalg_eigh.default": [],
    "linalg_householder_product.default": [((T(4, 3), T(3)), {}), ((T(2, 3, 3), T(2, 2)), {})],
    "linalg_lu_factor.default": [((T(3, 3),), {}), ((T(2, 4, 3),), {})],
    "linalg_matrix_rank.default": [((SPD, 0.1), {})], "linalg_matrix_rank.atol_rtol_float": [((T(4, 3),), {"rtol": 0.01})],
    "linalg_matrix_rank.atol_rtol_tensor": [((T(4, 1) @ T(1, 3),), {})], "linalg_matrix_rank.tol_tensor": [((T(4, 3), torch.tensor(0.5)), {})],
    "linalg_pinv.default": [((T(4, 3), 0.01), {})], "linalg_pinv.atol_rtol_float": [((T(3, 4),), {"atol": 0.5})],
    "linalg_pinv.atol_rtol_tensor": [((T(4, 3),), {}), ((T(2, 2, 3),), {"rtol": torch.tensor(0.1)})],
    "linalg_pinv.rcond_tensor": [((T(4, 3), torch.tensor(0.1)), {})],
    "linalg_svd.default": [], "svd.default": [], "linalg_svdvals.default": [((T(4, 3),), {}), ((T(2, 2, 5),), {})],
    "linalg_tensorinv.default": [((torch.eye(4).reshape(2, 2, 4) + T(2, 2, 4) * 0.1,), {})],
    "linalg_tensorsolve.default": [((torch.eye(6).reshape(2, 3, 6), T(2, 3)), {}), ((T(2, 4, 2), T(4), [0, 2]), {})],
    "matrix_exp.default": [((T(3, 3),), {}), ((T(2, 2, 2) * 5,), {})],
    "nuclear_norm.default": [((T(3, 4),), {})], "nuclear_norm.dim": [((T(3, 2, 4), [0, 2], True), {})],
    "qr.default": [((T(4, 3),), {}), ((T(4, 3), False), {}), ((T(2, 3, 4),), {})],
    "triangular_solve.default": [((T(3, 2), SPD), {}), ((T(3, 2), SPD, False, True, True), {})],
    "mvlgamma.default": [((T(2, 3).abs() + 2, 3), {})], "special_multigammaln.default": [((T(2, 3).abs() + 2, 2), {})],
    "special_gammainc.default": [((T(2, 3).abs() + 0.1, T(2, 3).abs() * 3), {})],
    "special_gammaincc.default": [((T(2, 3).abs() + 0.1, T(2, 3).abs() * 3), {})],
    "rnn_relu_cell.default": [((T(2, 3), T(2, 4), T(4, 3), T(4, 4), T(4), T(4)), {})],
    "nanmedian.default": [((torch.tensor([[1.0, np.nan, 3.0], [7.0, 2.0, np.nan]]),), {}), ((I(3, 1, 2),), {}), ((torch.tensor([np.nan]),), {})],
    "nanmedian.dim": [((torch.tensor([[1.0, np.nan, 3.0], [7.0, 2.0, np.nan]]), 1), {}), ((torch.tensor([[np.nan], [4.0]]), 0, True), {})],
    "mode.default": [((I(3, 1, 2, 1, 3),), {}), ((T(2, 3),), {}), ((I(1, 2, 2, 0, 0, 5).view(2, 3), 0, True), {})],
    "histc.default": [((T(20), 5, -1, 1), {}), ((T(2, 5), 4), {}), ((torch.ones(3), 3), {})],
    "bincount.default": [((I(0, 3, 3, 1),), {}), ((I(0, 2), T(2), 5), {})],
    "unique_dim.default": [((I(1, 2, 0, 1, 1, 2, 0, 0).view(4, 2), 0, True, True, True), {}), ((I(1, 0, 1, 2, 0, 2).view(2, 3), 1, True, True, True), {})],
    "lstm.input": [((T(3, 2, 3), [T(1, 2, 4), T(1, 2, 4)], LSTM, True, 1, 0.0, False, False, False), {}),
                   ((T(3, 2, 3), [T(1, 2, 2), T(1, 2, 4)], [T(16, 3), T(16, 2), T(16), T(16), T(2, 4)], True, 1, 0.0, False, False, False), {})],
    "stft.center": [((T(32), 8), {"return_complex": True}), ((T(2, 32), 8, 3, 6, T(6).abs()), {"return_complex": True, "normalized": True}),
                    ((T(2, 32), 8, 4, None, None, False, "reflect", False, False), {"return_complex": False})],
    "stft.default": [((T(2, 32), 8, 4), {"return_complex": True})],
    "istft.default": [((T(5, 6, dtype=C64), 8, 2), {}), ((T(2, 5, 6, dtype=C64), 8, 2, 8, T(8).abs() + 0.5, True, True), {"length": 9})],
    "_upsample_bicubic2d_aa.vec": [((T(1, 1, 6, 6), [3, 4], False, None), {}), ((T(1, 1, 4, 4), None, True, [1.5, 0.5]), {}), ((T(1, 1, 3, 3), [7, 5], False, None), {})],
    "_upsample_lanczos2d_aa.vec": [((T(1, 1, 8, 8), [3, 4], False, None), {}), ((T(1, 1, 4, 4), [6, 5], False, None), {})],
    "_native_multi_head_attention.default": [((X8, X8, X8, 8, 2, T(24, 8), T(24), T(8, 8), T(8)), {}),
        ((X8, X8, X8, 8, 2, T(24, 8), T(24), T(8, 8), T(8), T(2, 3) > 0.9, True, False, 1), {})],
    "_transformer_encoder_layer_fwd.default": [
        ((X8, 8, 2, T(24, 8), T(24), T(8, 8), T(8), g, n, 1e-5, T(8), T(8), T(8), T(8), T(6, 8), T(6), T(8, 6), T(8)), {})
        for g, n in ((True, False), (False, True))],
    "vdot.default": [((T(3), T(3)), {}), ((T(3, dtype=C64), T(3, dtype=C64)), {})],
})
for name in ("chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
             "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
             "shifted_chebyshev_polynomial_w", "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
             "legendre_polynomial_p"):
    MORE["special_%s.n_scalar" % name] = [((T(2, 3) * 1.5, n), {}) for n in (0, 1, 5)] + [((torch.tensor([-1.0, 0.5, 1.0]), 9), {})]
    xs = torch.tensor([[-1.0, -0.3, 0.5], [1.0, 1.5, -2.0]])
    degrees = torch.tensor([[0, 3, 9], [20, 4, -1]])
    MORE["special_%s.default" % name] = [((xs, degrees), {}), ((xs.double(), degrees[0].double()), {}), ((torch.arange(3), degrees[1]), {})]
    MORE["special_%s.x_scalar" % name] = [((0.25, degrees), {}), ((2, degrees), {}), ((0.3, degrees.double()), {})]
MORE.update({
    # Between -4 and -2, PyTorch's result has eight digits.
    "special_airy_ai.default": [((torch.linspace(-1.5, 6, 9),), {})],
    "special_scaled_modified_bessel_k0.default": [((torch.linspace(0.1, 30, 9),), {})],
    "special_scaled_modified_bessel_k1.default": [((torch.linspace(0.1, 30, 9),), {})],
    "special_spherical_bessel_j0.default": [((T(2, 3) * 5,), {}), ((torch.zeros(1),), {})],
    "special_polygamma.default": [((2, T(2, 3).abs() + 0.5), {})],
})
for base in ("divide", "multiply", "subtract", "true_divide", "greater", "greater_equal", "less",
             "less_equal", "not_equal", "__and__", "__or__", "__xor__", "xlogy"):
    X, Y = (I(1, 2, 6), I(3, 2, 1)) if base.startswith("__") else (T(2, 3), T(3))
    for overload, args in (("Scalar", (X, 2)), ("Tensor", (X, Y)), ("Scalar_Self", (2, X)), ("Scalar_Other", (X, 2))):
        MORE.setdefault("%s.%s" % (base, overload), [(args, {})])
for base in ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"):
    MORE[base + ".Scalar_Tensor"] = [((6, I(1, 2, 3)), {})]
for base in ("clamp_max", "clamp_min", "clip"):
    MORE[base + ".default"] = [((T(2, 3), 0.5), {}), ((I(1, 5, 3), 2), {})]
MORE.update({
    "divide.Scalar_mode": [((T(2, 3), 0.7), {"rounding_mode": "floor"})],
    "float_power.Scalar": [((2.0, T(2, 3)), {})], "float_power.Tensor_Scalar": [((T(2, 3), 2.0), {})],
    "frobenius_norm.dim": [((T(2, 3), [1]), {})],
    "cross_entropy_loss.default": [((T(3, 5), I(0, 2, 4)), {}), ((T(3, 5), T(3, 5).softmax(1), None, 2), {})],
    "nll_loss.default": [((T(3, 5), I(0, 2, 4)), {}), ((T(3, 5), I(0, 2, 4), T(5), 2, 2), {})],
    "nll_loss_nd.default": [((T(3, 5), I(0, 2, 4)), {})],
    "nll_loss2d.default": [((T(1, 3, 2, 2), I(0, 2, 1, 0).view(1, 2, 2)), {})],
    "nll_loss_forward.default": [((T(3, 5), I(0, 2, 4), None, 1, -100), {})],
    "nll_loss2d_forward.default": [((T(1, 3, 2, 2), I(0, 2, 1, 0).view(1, 2, 2), None, 1, -100), {})],
    "kl_div.default": [((T(2, 3), T(2, 3).abs()), {}), ((T(2, 3), T(2, 3), 2), {"log_target": True})],
    "huber_loss.default": [((T(2, 3), T(2, 3), 1, 0.7), {})],
    "margin_ranking_loss.default": [((T(4), T(4), T(4).sign(), 0.2), {})],
    "cosine_embedding_loss.default": [((T(3, 4), T(3, 4), T(3).sign()), {})],
    "poisson_nll_loss.default": [((T(2, 3), T(2, 3).abs(), True, True, 1e-8, 1), {})],
    "multilabel_margin_loss_forward.default": [((T(2, 4), I(0, 2, -1, 1, 3, 1, 0, -1).view(2, 4), 1), {})],
    "max_pool2d.default": [((T(1, 2, 5, 5), [2, 2]), {}), ((T(1, 1, 6, 6), [3, 3], [2, 2], [1, 1], [1, 1], True), {})],
    "max_pool3d.default": [((T(1, 1, 4, 4, 4), [2, 2, 2]), {})],
    "adaptive_avg_pool2d.default": [((T(1, 2, 5, 4), [1, 1]), {}), ((T(1, 2, 5, 4), [2, 3]), {})],
    "log_sigmoid_forward.default": [],
    "atleast_1d.Sequence": [(([T(), T(2)],), {})], "atleast_2d.Sequence": [(([T(), T(2)],), {})],
    "atleast_3d.Sequence": [(([T(2), T(2, 3)],), {})],
    "_pad_circular.default": [((T(1, 2, 4), [1, 2]), {})],
    "_pad_enum.default": [((T(1, 2, 4), [1, 2], m), {}) for m in (1, 2, 3)],
    "_unsafe_view.default": [((T(2, 3), [3, 2]), {})], "_reshape_alias.default": [((T(2, 3), [3, 2], [2, 1]), {})],
    "_unsafe_index_put.default": [((T(4), [I(0, 2)], T(2)), {})],
    "_weight_norm_interface.default": [((T(3, 4), T(3, 1)), {})],
    "hamming_window.periodic": [((5, False), {})], "hamming_window.periodic_alpha": [((5, True, 0.6), {})],
    "hamming_window.periodic_alpha_beta": [((5, True, 0.6, 0.4), {})],
    "blackman_window.periodic": [((5, False), {})],
    "detach.default": [((T(2),), {})], "lift_fresh.default": [((T(2),), {})], "lift_fresh_copy.default": [((T(2),), {})],
    "matrix_H.default": [((T(2, 3),), {})], "imag.default": [((T(2, 3, dtype=C64),), {})],
    "norm.ScalarOpt_dim_dtype": [((T(2, 3), 2, [1], False), {"dtype": torch.float64})],
    "norm.ScalarOpt_dtype": [((T(2, 3), 2), {"dtype": torch.float64})],
    "special_xlog1py.other_scalar": [((T(3).abs(), 0.5), {})], "special_xlog1py.self_scalar": [((0.5, T(3).abs()), {})],
    "special_xlogy.other_scalar": [((T(3).abs(), 0.5), {})], "special_xlogy.self_scalar": [((0.5, T(3).abs()), {})],
    "to.other": [((T(2), I(1, 2)), {})], "row_stack.default": [(([T(2), T(2)],), {})],
    "unsafe_split_with_sizes.default": [((T(5), [2, 3]), {})], "native_channel_shuffle.default": [((T(1, 6, 2, 2), 2), {})],
    "zero.default": [((T(2),), {})], "norm_except_dim.default": [((T(2, 3),), {})],
    "dropout.default": [((T(2, 3), 0.5, False), {})],
})
L3 = T(2, 4, 4) + 3 * torch.eye(4)
MORE.update({
    "gradient.scalarint": [((T(5, 4),), {}), ((T(5, 4),), {"spacing": 2.0, "dim": 1, "edge_order": 2}),
                           ((torch.arange(6),), {"spacing": 3})],
    "gradient.scalararray": [((T(5, 4),), {"spacing": 0.5, "dim": [1, 0]})],
    "gradient.array": [((T(3, 4, 5),), {"dim": [0, -1]})],
    "gradient.scalarrayint": [((T(5, 4),), {"spacing": [2.0, 0.5]})],
    "gradient.scalarrayarray": [((T(5, 4),), {"spacing": [2.0, 3], "dim": [0, 1], "edge_order": 2})],
    "gradient.tensorarrayint": [((T(5, 3),), {"spacing": [torch.tensor([0.0, 1, 3, 4, 8])], "dim": 0}),
                                ((T(5, 3),), {"spacing": [torch.tensor([0.0, 1, 3, 4, 8])], "dim": 0, "edge_order": 2})],
    "gradient.tensorarray": [((T(4, 3),), {"spacing": [torch.tensor([0.0, 1, 3, 4]), torch.tensor([1.0, 2, 5])], "dim": [0, 1]})],
    "histogram.bin_ct": [((T(50), 5), {}), ((T(5, 8), 4), {"range": [-1.0, 1.0], "density": True}),
                         ((T(20), 3), {"weight": T(20).abs()}), ((torch.full((4,), 2.5), 2), {}),
                         ((torch.tensor([0, 0.25, 0.5, 1, -1, 2, float("nan")]), 4), {"range": [0.0, 1.0]})],
    "histogram.bins_tensor": [((T(50), torch.tensor([-2.0, -1, 0, 0.5, 3])), {}),
                              ((T(4, 5), torch.tensor([-1.0, 0, 2])), {"weight": T(4, 5).abs(), "density": True})],
    "segment_reduce.default": [((T(6, 2), "sum"), {"lengths": I(2, 3, 1)}), ((T(6, 2), "max"), {"lengths": I(2, 0, 4)}),
                               ((T(6), "mean"), {"lengths": I(2, 0, 4)}), ((T(6), "mean"), {"lengths": I(2, 0, 4), "initial": 3.0}),
                               ((T(6, 2, 2), "prod"), {"lengths": I(1, 5), "initial": 2.0}),
                               ((T(6), "min"), {"offsets": I(0, 1, 1, 6)}),
                               ((torch.tensor([1, float("nan"), 3, 2.0]), "max"), {"lengths": I(2, 2)})],
    "linalg_lu.default": [((L3,), {}), ((T(5, 3),), {}), ((T(3, 5),), {})],
    "lu_unpack.default": [(torch.linalg.lu_factor(L3), {}), (torch.linalg.lu_factor(T(5, 3)), {}),
                          ((*torch.linalg.lu_factor(T(3, 3)), False, True), {}),
                          ((*torch.linalg.lu_factor(T(3, 3)), True, False), {})],
})
for name, inverse in (("fft", 0), ("ifft", 1), ("rfft", 0), ("irfft", 1), ("hfft", 1), ("ihfft", 0)):
    real = name in ("rfft", "ihfft")
    def X(*s):
        return T(*s) if real else T(*s, dtype=C64)
    MORE["fft_%s.default" % name] = [((X(2, 5),), {}), ((X(5, 2), 4, 0), {"norm": "ortho"}), ((X(4), 6), {"norm": "forward"})]
    MORE["fft_%s2.default" % name] = [((X(2, 3, 4),), {}), ((X(3, 4), [4, 3]), {"norm": "forward"})]
    MORE["fft_%sn.default" % name] = [((X(2, 3, 4),), {}), ((X(3, 4), None, [0]), {"norm": "ortho"}), ((X(3, 4), [5]), {})]
MORE["fft_fft.default"].append(((T(3, 4),), {}))
MORE["fft_irfft.default"].append(((T(3, 4),), {}))
MORE["fft_fftshift.default"] = [((T(5),), {}), ((T(2, 5), [1]), {})]
MORE["fft_ifftshift.default"] = [((T(5),), {}), ((T(4, 3), [0]), {})]



def N(*v, dtype=torch.int32):
    return torch.tensor(v, dtype=dtype)


U8 = torch.uint8
Z = torch.tensor([[1 + 2j, 3 - 1j, 2j], [2, 1j, 1]], dtype=C64)
BATCH = torch.arange(8, dtype=torch.int32).view(2, 2, 2)
HALVES = torch.tensor([-1.4, -0.3, 0.2, 0.7, 1.3, 0.05, -0.9, 2.1], dtype=torch.bfloat16)
EXTRA = {  # of other dtypes and at the edges; they come after the others
    "dot.default": [((N(200, 3, 5, dtype=U8), N(2, 100, 7, dtype=U8)), {}), ((N(2, 3), N(-4, 5)), {})],
    "vdot.default": [((N(200, 3, dtype=U8), N(2, 100, dtype=U8)), {})],
    "mv.default": [((BATCH[0], N(2, 3)), {}), ((BATCH[1].to(U8) * 30, N(9, 7, dtype=U8)), {})],
    "matmul.default": [((N(2, 3), N(4, 5)), {}), ((BATCH[1], N(4, 5)), {})],
    "baddbmm.default": [((BATCH, BATCH, BATCH), {"beta": 2.7, "alpha": -1.6}), ((BATCH.to(U8),) * 3, {"beta": -1, "alpha": 0.5})],
    "addbmm.default": [((BATCH[0], BATCH, BATCH), {"beta": 2.7, "alpha": 1.6})],
    "addmv.default": [((N(3, 4), BATCH[1], N(1, 2)), {"beta": 0.9, "alpha": 2.9}), ((N(3, 4, dtype=U8), BATCH[1].to(U8), N(1, 2, dtype=U8)), {})],
    "addr.default": [((BATCH[0] > 1, N(1, 0) > 0, N(1, 1) > 0), {}),
                     ((BATCH[0] > 1, N(1, 0) > 0, N(1, 1) > 0), {"beta": False, "alpha": 3})],
    "linalg_vander.default": [((N(1, 2, 3, dtype=U8),), {"N": 9}), ((N(2, -3),), {"N": 22})],
    "take_along_dim.default": [((T(2, 3), I(-1, -3).view(2, 1), 1), {}), ((T(2, 3), I(0, -2, 1).view(1, 3), 0), {})],
    "diff.default": [((T(2, 3), 0, -1, T(2, 1), T(2, 1)), {})],
    "cov.default": [((Z,), {}), ((Z[0],), {})],
    "corrcoef.default": [((Z,), {})],
    "linspace.default": [((4.3, 1, 50), {"dtype": U8}), ((-4.3, 4.9, 12), {"dtype": torch.int32}), ((-1, 5, 3), {"dtype": U8})],
    "logspace.default": [((0.7, 2.9, 5, 2.7), {"dtype": torch.int64})],
    "histc.default": [((HALVES, 5), {}), ((HALVES, 7, -1, 1), {}), ((HALVES.half(), 7, -1, 1), {}), ((HALVES[:1], 3), {})],
    "lerp.Scalar": [((Z, Z * 3, w), {}) for w in (0.25 + 1j, 0.1 + 0.1j)],
    "isreal.default": [((torch.tensor([1 + 1j, 2, complex(1, np.nan), complex(np.nan, -0.0)], dtype=C64),), {})],
    "index_reduce.default": [((torch.tensor(3.0), 0, I(0), torch.tensor(5.0), r), {"include_self": i})
                             for r, i in (("prod", True), ("mean", False))],
    "linalg_pinv.rcond_tensor": [((torch.ones(0, 3, 2, 5), torch.ones(0)), {})],
    "segment_reduce.default": [((torch.arange(10.0).view(5, 2) + 1, r), {"lengths": I(1, 0, 2, 0), "unsafe": True, "initial": 1.0})
                               for r in ("prod", "mean")],
}
for name in ("trapezoid", "cumulative_trapezoid"):
    EXTRA[name + ".x"] = [((T(3), N(200, 100, 244, dtype=U8)), {}), ((N(200, 100, 244, dtype=U8),) * 2, {})]
    EXTRA[name + ".dx"] = [((N(200, 100, 244, dtype=U8),), {}), ((N(1, 100, 243),), {"dx": 2})]

I16 = torch.int16
F16, BF16, F64 = torch.float16, torch.bfloat16, torch.float64
BYTES = torch.tensor([[0, 0, 255, 255], [0, 0, 255, 255], [255, 255, 0, 0], [0, 255, 0, 255]], dtype=U8)[None, None]
WAVES = (torch.arange(48) * 97 % 251).to(U8).view(1, 2, 6, 4)
INFINITE = torch.tensor([1.0, torch.inf, 2, 3, -torch.inf, 4, 5, 6])
RAMP = ((torch.arange(24.0) * 7 % 11) - 5).view(1, 1, 4, 6)
BINS = torch.complex(((torch.arange(48.0) * 7 % 13) - 6).view(8, 6), ((torch.arange(48.0) * 5 % 11) - 5).view(8, 6))
STEPS = (torch.arange(12.0) - 5.3) * 0.37
SEEN = torch.tensor([True, False, True])
EXTRA.update({
    "gradient.tensorarrayint": [((torch.arange(33.0).view(11, 3) ** 2,), {"spacing": [torch.tensor([1.0, 2, 5])], "dim": 0})],
    "gradient.tensorarray": [((torch.arange(54.0).view(3, 3, 6) ** 2,),
                              {"spacing": [torch.tensor([1.0, 2, 5]), torch.tensor([0.0, 3, 4])], "dim": [1, 2]})],
    "upsample_bicubic2d.vec": [((BYTES, [9, 9], a, None), {}) for a in (False, True)] +
                              [((BYTES, None, False, [1.7, 0.6]), {}), ((RAMP.double() / 7, [7, 5], False, None), {})],
    "upsample_bicubic2d.default": [((BYTES, [3, 7], False), {})] +
                                  [((WAVES, size, a), {}) for a in (False, True) for size in ([11, 6], [7, 5])],
    "upsample_linear1d.default": [((INFINITE[None, None], [n], False), {}) for n in (8, 13)],
    "upsample_trilinear3d.default": [((INFINITE.view(1, 1, 2, 2, 2), [3, 3, 2], False), {})],
    "istft.default": [((BINS, 8, 2), {"onesided": False}), ((BINS[None], 8, 3, 6), {"window": torch.arange(6.0) + 1})],
    "bucketize.Scalar": [((0.5, N(0, 0, 1, dtype=I16)), {}), ((2.5, N(1, 2, 3)), {"out_int32": True}),
                         ((300, N(0, 40, 50, dtype=torch.int8)), {}), ((1, HALVES.sort().values), {})],
    "searchsorted.Scalar": [((N(0, 0, 1, dtype=I16), 0.5), {}), ((N(0, 0, 1), 0), {"right": True})],
    "addcmul.default": [((N(3, 4),) * 3, {"value": 1.5}), ((N(3, 4), N(5, 6), N(7, -8)), {"value": -2.9}),
                        ((N(3, 4, dtype=U8),) * 3, {"value": 2.5})],
    "fake_quantize_per_tensor_affine.default": [((STEPS.to(d), 0.1, 3, -8, 12), {}) for d in (F16, BF16, F64)],
    "fake_quantize_per_tensor_affine_cachemask.default": [((STEPS.to(d), 0.1, 3, -8, 12), {}) for d in (F16, BF16, F64)],
    "remainder.Scalar_Tensor": [((2.5, I(1, 2, 3)), {}), ((5, SEEN | True), {}), ((2.7, HALVES), {}), ((-300, N(7, 50, -3, dtype=torch.int8)), {})],
    "bitwise_and.Scalar_Tensor": [((6, SEEN), {}), ((True, SEEN), {})],
    "bitwise_or.Scalar_Tensor": [((-129, N(1, 2, -3, dtype=torch.int8)), {})],
    "bitwise_xor.Scalar_Tensor": [((True, N(1, 2, dtype=U8)), {}), ((-1, N(1, 2, dtype=U8)), {})],
    "bitwise_left_shift.Scalar_Tensor": [((3, SEEN), {})],
    "bitwise_right_shift.Scalar_Tensor": [((300, N(1, 2, dtype=U8)), {})],
    "_pad_circular.default": [((RAMP[0, 0].clone(), p), {}) for p in ([-1, 2], [2, -3], [-2, -1])] +
                             [((RAMP.clone(), p), {}) for p in ([-1, 2, 1, -1], [3, 3, -2, 2], [0, 0, -1, 0])],
    "isclose.default": [((torch.tensor([1.0, 2, 1e4, 0.1], dtype=d), torch.tensor([1.002, 2.02, 1.01e4, 0.1001], dtype=d)),
                         {"rtol": 1e-2, "atol": 1e-3}) for d in (F16, BF16)] +
                       [((N(1000, 7), N(1009, 7)), {"rtol": 0.01})],
    "nan_to_num.default": [((torch.tensor([np.inf, -np.inf, np.nan, 1], dtype=d),), {"nan": 7.1, "posinf": 1e5, "neginf": -1e39})
                           for d in (F16, BF16, torch.float32)],
    "range.default": [((0.5, 5), {"dtype": torch.int64}), ((-1.5, 5.5), {"dtype": U8})],
    "range.step": [((-1.5, 5.5, 2.5), {"dtype": torch.int32}), ((5.5, -1.5, -1.5), {"dtype": I16}), ((-0.5, 5, 1.5), {"dtype": F16})],
    "median.default": [((torch.empty(0),), {}), ((torch.empty(2, 0, dtype=F16),), {})],
    "nanmedian.default": [((torch.empty(0),), {})],
    "addmv.default": EXTRA["addmv.default"] + [((torch.ones(1), torch.ones(0, 3), torch.ones(3)), {"beta": b}) for b in (1, 2.5)],
    "divide.Tensor_mode": [(((torch.arange(1, 61) * 37 % 101).to(d), ((torch.arange(1, 61) * 11 % 17) / 7 + 0.3).to(d)), {"rounding_mode": "trunc"})
                           for d in (F16, BF16)],
})

I8 = torch.int8
SAMPLES = torch.tensor([[[0.3, 0.8], [0.05, 0.5]]])
MORE.update({
    "_is_all_true.default": [((SEEN,), {}), ((SEEN[::2],), {})],
    "_is_any_true.default": [((SEEN,), {}), ((SEEN[1:2],), {})],
    "_chunk_cat.default": [(([T(5, 2), T(4, 2)], 0, 2), {}), (([T(2, 5, 3), T(2, 2)], 1, 3), {}), (([T(6)], 0, 2), {})],
    "_int_mm.default": [((N(*range(-24, 24), dtype=I8).view(6, 8) * 5, N(*range(64), dtype=I8).view(8, 8) - 31), {})],
    "_weight_int8pack_mm.default": [((T(3, 8), N(*range(-32, 32), dtype=I8).view(8, 8), T(8)), {}),
                                    # PyTorch's kernel for bfloat16 reads beyond shorter rows.
                                    ((T(3, 32).bfloat16(), N(*[i * 7 % 61 - 30 for i in range(256)], dtype=I8).view(8, 32), T(8).bfloat16()), {})],
    "conv_tbc.default": [((T(5, 2, 3), T(3, 3, 4), T(4)), {}), ((T(5, 2, 3), T(2, 3, 4), T(4), 1), {})],
    "pinverse.default": [((T(4, 3),), {}), ((T(2, 2, 3),), {"rcond": 0.1})],
    "_lu_with_info.default": [((T(3, 3),), {}), ((T(2, 3, 3),), {"check_errors": False})],
    "sum_to_size.default": [((T(2, 3, 4), [3, 1]), {}), ((T(2, 3), [2, 3]), {}), ((N(1, 2, 3).view(1, 3), [1]), {})],
    "native_dropout_backward.default": [((T(3, 4), T(3, 4) > 0, 1.25), {})],
    "fractional_max_pool2d.default": [((T(1, 2, 7, 8), [2, 3], [4, 3], SAMPLES), {}), ((T(2, 5, 5), [2, 2], [1, 4], SAMPLES), {})],
    "fractional_max_pool3d.default": [((T(1, 2, 5, 6, 7), [2, 2, 3], [3, 4, 3], torch.cat([SAMPLES, SAMPLES[..., :1]], -1)), {})],
})
# Eigenvalues of both signs, and a matrix of rank 1.
SYMMETRIC = torch.tensor([[2.0, -1.0, 0.0], [-1.0, -1.0, 3.0], [0.0, 3.0, 0.5]])
SINGULAR = torch.outer(torch.arange(1.0, 4.0), torch.arange(1.0, 4.0))
for name, tolerances in (("default", [((0.3, True), {})]), ("atol_rtol_float", [((), {"rtol": 0.01, "hermitian": True}), ((), {"hermitian": True})]),
                         ("atol_rtol_tensor", [((), {"atol": torch.tensor(0.5), "hermitian": True})])):
    for base in ("linalg_pinv", "linalg_matrix_rank"):
        MORE["%s.%s" % (base, name)] += [((matrix, *args), kwargs) for args, kwargs in tolerances
                                         for matrix in (SYMMETRIC, torch.stack([SYMMETRIC, SINGULAR]))]
MORE["linalg_pinv.rcond_tensor"] += [((SYMMETRIC, torch.tensor(0.3), True), {})]
MORE["linalg_matrix_rank.tol_tensor"] += [((SYMMETRIC, torch.tensor(1.5), True), {})]
for base, overload in rows():
    if base.startswith("_foreach_"):
        values = {"List[Tensor]": lambda: [T(2, 3).sigmoid(), T(4).sigmoid()], "Tensor": lambda: torch.tensor(1.5),
                  "number": lambda: 0.5, "List[number]": lambda: [0.5, 2.0]}
        arguments = getattr(getattr(torch.ops.aten, base), overload)._schema.arguments
        MORE[base + "." + overload] = [(tuple(values[str(a.type)]() for a in arguments if not a.has_default_value()), {})]

# Enough steps, over layers and directions, to become loops instead of unrolled nodes.
def recurrence(states, gates, layers=1, directions=1, length=1030, hidden=2, project=0, bias=True, batch_first=False):
    state = project or hidden
    sizes = [(directions * layers, 2, state), (directions * layers, 2, hidden)][:states]
    shapes = []
    for layer in range(layers):
        row = 3 if layer == 0 else directions * state
        one = [(gates * hidden, row), (gates * hidden, state)] + [(gates * hidden,)] * (2 * bias) + [(project, hidden)] * (project > 0)
        shapes += one * directions
    hx = [T(*size) for size in sizes]
    weights = [0.5 * T(*shape) for shape in shapes]
    x = T(*((2, length, 3) if batch_first else (length, 2, 3)))
    return (x, hx if states > 1 else hx[0], weights, bias, layers, 0.0, False, directions == 2, batch_first), {}


EXTRA.update({
    "lstm.input": [recurrence(2, 4, layers=2, directions=2, length=260, batch_first=True), recurrence(2, 4, project=1, bias=False)],
    "gru.input": [recurrence(1, 3, directions=2, length=520, batch_first=True), recurrence(1, 3, layers=3, length=345)],
    "rnn_relu.input": [recurrence(1, 1)],
    "rnn_tanh.input": [recurrence(1, 1, bias=False, batch_first=True)],
})

# Operators that are intentionally not decomposed, random operators, and operators without stable results.
SKIP = re.compile(r"rand|alpha_dropout|feature_dropout|bernoulli|normal|multinomial|rrelu|empty|new_empty|exponential|"
                  r"uniform|cauchy|geometric|result_type|_foreach_\w+_\b")


def database():
    from torch.testing._internal.common_methods_invocations import op_db
    found = {}
    for op in op_db:
        names = {op.name, getattr(op, "aten_name", "") or ""} | {a.name for a in op.aliases}
        for name in {n.replace(".", "_").replace("nn_functional_", "") for n in names}:
            found.setdefault(name, []).append(op)
    return found


def candidates(base, name, db):
    yield from MORE.get(name, [])
    for key in (base, base.replace("special_", ""), "special_" + base, base.lstrip("_")):
        for op in db.get(key, []):
            for dtype in (torch.float32, torch.int64, torch.bool):
                if dtype not in op.dtypes:
                    continue
                try:
                    samples = list(op.sample_inputs("cpu", dtype))[:40]
                except Exception:
                    continue
                for s in samples:
                    yield (s.input, *s.args), dict(s.kwargs)


def call(op, args, kwargs, elements=ELEMENTS):
    """The call by the operator's schema, or Skip."""
    schema = op._schema
    names = [a.name for a in schema.arguments]
    if any(k not in names for k in kwargs):
        raise Skip("keyword")
    clone = lambda v: v.clone() if isinstance(v, torch.Tensor) else v
    try:
        with torch.no_grad():
            result = op(*[clone(a) for a in args], **{k: clone(v) for k, v in kwargs.items()})
    except Exception as e:
        raise Skip(str(e)[:80])
    if any(isinstance(t, torch.Tensor) and t.numel() > elements for t in tree_leaves((args, kwargs, result))):
        raise Skip("tensor")
    case = {"args": [enc(v, str(schema.arguments[i].type)) for i, v in enumerate(args)],
            "kwargs": {k: enc(v, str(schema.arguments[names.index(k)].type)) for k, v in kwargs.items()}}
    results = [result] if len(schema.returns) == 1 else list(result)
    if not any(isinstance(r, (torch.Tensor, list, tuple)) for r in results):
        raise Skip("no tensor")
    case["expect"] = [enc(r, str(t.type)) for r, t in zip(results, schema.returns)]
    return case


def append(cases, case):
    case["id"] = "%d" % len(cases)
    case.update(check="values", rtol=1e-4, atol=1e-5, tags=[])
    cases.append(case)


def main():
    db = database()
    wanted = set(sys.argv[1:])
    without = []
    for base, overload in rows():
        name = "%s.%s" % (base, overload)
        if wanted and name not in wanted:
            continue
        if SKIP.search(base):
            without.append(name)
            continue
        op = getattr(getattr(torch.ops.aten, base), overload)
        cases, seen = [], set()
        most = max(MOST, len(MORE.get(name, [])))
        for args, kwargs in candidates(base, name, db):
            if len(cases) == most:
                break
            try:
                case = call(op, args, kwargs)
            except (Skip, KeyError):
                continue
            kind = json.dumps([[list(v)[0] for v in case["args"]], sorted(case["kwargs"])])
            shape = json.dumps(case["args"])
            if shape in seen or (len(case["args"]) and sum(k == kind for k in seen) > 1):
                continue
            seen.add(shape)
            append(cases, case)
        for args, kwargs in EXTRA.get(name, []):
            append(cases, call(op, args, kwargs, elements=10_000))
        if not cases:
            without.append(name)
            continue
        out = {"op": "aten." + name, "schema": str(op._schema), "family": "decomposition",
               "tags": {}, "cases": cases}
        with open(os.path.join(HERE, "cases", "aten.%s.json" % name), "w") as f:
            json.dump(out, f, separators=(",", ":"))
            f.write("\n")
    print("without cases:", " ".join(without))


if __name__ == "__main__":
    main()
