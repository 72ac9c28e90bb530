"""The shared library: structures and functions of belay.h, belay_compiler.h and belay_llm.h, through ctypes."""

from __future__ import annotations

import ctypes
import json
import os
from ctypes import POINTER, byref, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64
from ctypes import c_void_p

from ._errors import Error

ABI_VERSION = 7
MAX_RANK = 16

# belay_kind.
NONE, TENSOR, INT, DOUBLE, BOOL, OTHER, STRING = range(7)

# belay_dtype: the name of each dtype, in the words of NumPy and PyTorch.
DTYPES = {
    1: "uint8",
    2: "int8",
    3: "int16",
    4: "int32",
    5: "int64",
    6: "float16",
    7: "float32",
    8: "float64",
    9: "complex32",
    10: "complex64",
    11: "complex128",
    12: "bool",
    13: "bfloat16",
    14: "uint16",
    15: "uint32",
    16: "uint64",
    17: "float8_e4m3fn",
    18: "float8_e5m2",
    19: "float8_e4m3fnuz",
    20: "float8_e5m2fnuz",
    21: "float8_e8m0fnu",
}
DTYPE_OF_NAME = {name: dtype for dtype, name in DTYPES.items()}


class TensorStruct(ctypes.Structure):
    """belay_tensor."""

    _fields_ = [
        ("dtype", c_int),
        ("rank", c_int32),
        ("sizes", c_int64 * MAX_RANK),
        ("strides", c_int64 * MAX_RANK),
        ("data", c_void_p),
    ]


class Value(ctypes.Structure):
    """belay_value."""

    _fields_ = [
        ("kind", c_int),
        ("bool_value", c_int32),
        ("int_value", c_int64),
        ("double_value", c_double),
        ("tensor", TensorStruct),
    ]


class InputInfo(ctypes.Structure):
    """belay_input_info."""

    _fields_ = [
        ("name", c_char_p),
        ("kind", c_int),
        ("tensor", TensorStruct),
        ("dynamic_dims", c_uint32),
        ("min_sizes", c_int64 * MAX_RANK),
    ]


class _Sized(ctypes.Structure):
    """A structure that begins with its size."""

    def __init__(self, **fields):
        super().__init__(**fields)
        self.struct_size = ctypes.sizeof(self)


class OutputInfo(_Sized):
    """belay_output_info."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("kind", c_int),
        ("tensor", TensorStruct),
        ("dynamic_dims", c_uint32),
        ("max_bytes", c_uint64),
    ]


class OpenOptions(_Sized):
    """belay_open_options."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("copy", c_int32),
        ("companion_root", c_char_p),
        ("data_files", POINTER(c_char_p)),
        ("num_data_files", c_size_t),
        ("limit_file_bytes", c_uint64),
        ("limit_arena_bytes", c_uint64),
        ("limit_instructions", c_uint64),
        ("limit_work", c_uint64),
        ("weight_cache", c_char_p),
    ]


class BankInfo(_Sized):
    """belay_bank_info."""

    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("bytes", c_uint64), ("alignment", c_uint64)]


class BankMemory(ctypes.Structure):
    """belay_bank_memory."""

    _fields_ = [("name", c_char_p), ("data", c_void_p), ("size", c_size_t)]


class BackendOption(ctypes.Structure):
    """belay_backend_option."""

    _fields_ = [
        ("backend", c_char_p),
        ("name", c_char_p),
        ("kind", c_int),
        ("bool_value", c_int32),
        ("int_value", c_int64),
        ("string_value", c_char_p),
    ]


class MethodOptions(_Sized):
    """belay_method_options."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("num_threads", c_int32),
        ("log", c_void_p),
        ("state", c_void_p),
        ("backend_options", POINTER(BackendOption)),
        ("num_backend_options", c_size_t),
        ("banks", POINTER(BankMemory)),
        ("num_banks", c_size_t),
    ]


class Archive(_Sized):
    """belay_archive."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("method", c_char_p),
        ("path", c_char_p),
        ("bytes", c_void_p),
        ("size", c_size_t),
        ("model", c_char_p),
    ]


class File(_Sized):
    """belay_file."""

    _fields_ = [("struct_size", c_size_t), ("path", c_char_p), ("bytes", c_void_p), ("size", c_size_t)]


ProgressFunction = ctypes.CFUNCTYPE(None, c_char_p, c_double, c_void_p)


class LowerOptions(_Sized):
    """belay_lower_options."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("format", c_char_p),
        ("backends", POINTER(c_char_p)),
        ("num_backends", c_size_t),
        ("compile_specs", POINTER(c_char_p)),
        ("num_compile_specs", c_size_t),
        ("max_sizes", POINTER(c_char_p)),
        ("num_max_sizes", c_size_t),
        ("constant_methods", POINTER(c_char_p)),
        ("num_constant_methods", c_size_t),
        ("quantize", c_char_p),
        ("random_seed", c_int64),
        ("threads", c_int32),
        ("write_state_in_place", c_int32),
        ("no_fold_constants", c_int32),
        ("quant_fusion_and_const_prop", c_int32),
        ("html", c_int32),
        ("limit_nodes", c_uint64),
        ("limit_memory_bytes", c_uint64),
        ("limit_work", c_uint64),
        ("timeout_ns", c_uint64),
        ("cancellation", c_void_p),
        ("progress", ProgressFunction),
        ("progress_context", c_void_p),
        ("tokenizer", c_char_p),
        ("chat_templates", POINTER(c_char_p)),
        ("num_chat_templates", c_size_t),
        ("calibration", POINTER(c_char_p)),
        ("num_calibration", c_size_t),
        ("max_loss", c_char_p),
        ("banks", POINTER(c_char_p)),
        ("num_banks", c_size_t),
        ("data_files", POINTER(c_char_p)),
        ("num_data_files", c_size_t),
        ("memory_planners", POINTER(c_char_p)),
        ("num_memory_planners", c_size_t),
        ("node_losses", c_int32),
    ]


class VerifyOptions(_Sized):
    """belay_verify_options."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("method", c_char_p),
        ("model", c_char_p),
        ("seed", c_uint64),
        ("calls", c_int32),
        ("atol", c_double),
        ("rtol", c_double),
        ("timeout_ns", c_uint64),
        ("cancellation", c_void_p),
    ]


class ProfileOptions(_Sized):
    """belay_profile_options."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("method", c_char_p),
        ("runs", c_int32),
        ("num_threads", c_int32),
        ("backend_options", POINTER(BackendOption)),
        ("num_backend_options", c_size_t),
    ]


class ExecuteOptions(_Sized):
    """belay_execute_options."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("timeout_ns", c_uint64),
        ("cancellation", c_void_p),
        ("limit_instructions", c_uint64),
        ("limit_work", c_uint64),
    ]


class TextModelOptions(_Sized):
    """belay_text_model_options."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("prefill", c_char_p),
        ("decode", c_char_p),
        ("context_length", c_int64),
        ("num_threads", c_int32),
        ("tokenizer", c_char_p),
        ("tokenizer_size", c_size_t),
        ("chat_template", c_char_p),
        ("chat_template_size", c_size_t),
    ]


class ChatOptions(_Sized):
    """belay_chat_options."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("no_generation_prompt", c_int32),
        ("tools", c_char_p),
        ("variables", c_char_p),
    ]


class SessionOptions(_Sized):
    """belay_session_options."""

    _fields_ = [("struct_size", c_size_t), ("move_position", c_int32)]


class GenerationOptions(_Sized):
    """belay_generation_options."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("max_tokens", c_int64),
        ("no_end_tokens", c_int32),
        ("stop_tokens", POINTER(c_int32)),
        ("num_stop_tokens", c_size_t),
        ("stop_strings", POINTER(c_char_p)),
        ("num_stop_strings", c_size_t),
        ("temperature", c_double),
        ("top_k", c_int64),
        ("top_p", c_double),
        ("min_p", c_double),
        ("repetition_penalty", c_double),
        ("frequency_penalty", c_double),
        ("presence_penalty", c_double),
        ("seed", c_uint64),
        ("speculate", c_int64),
        ("draft", c_void_p),
    ]


class GeneratedToken(_Sized):
    """belay_generated_token."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("finish", c_int),
        ("token", c_int32),
        ("text", c_void_p),
        ("text_size", c_size_t),
    ]


_ERROR = POINTER(c_void_p)
_TENSOR = POINTER(TensorStruct)
_HANDLE = POINTER(c_void_p)

# Functions that return a status and have a last parameter for the error: their other parameters.
_FALLIBLE = {
    "belay_tensor_copy": [_TENSOR, _TENSOR],
    "belay_program_open": [c_char_p, POINTER(OpenOptions), _HANDLE],
    "belay_program_open_bytes": [c_void_p, c_size_t, POINTER(OpenOptions), _HANDLE],
    "belay_program_bank": [c_void_p, c_char_p, c_size_t, POINTER(BankInfo)],
    "belay_state_create": [c_void_p, POINTER(c_char_p), c_size_t, _HANDLE],
    "belay_state_get": [c_void_p, c_char_p, _TENSOR],
    "belay_state_save": [c_void_p, _HANDLE],
    "belay_state_restore": [c_void_p, c_void_p, c_size_t],
    "belay_method_load": [c_void_p, c_char_p, POINTER(MethodOptions), _HANDLE],
    "belay_method_set_backend_option": [c_void_p, POINTER(BackendOption)],
    "belay_method_get_backend_option": [c_void_p, POINTER(BackendOption)],
    "belay_method_input_info": [c_void_p, c_size_t, POINTER(InputInfo)],
    "belay_method_output_info": [c_void_p, c_size_t, POINTER(OutputInfo)],
    "belay_method_get_string": [c_void_p, c_size_t, POINTER(c_void_p), POINTER(c_size_t)],
    # Pointers as numbers: the call of a method is short.
    "belay_method_call": [c_void_p, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p],
}
_FALLIBLE_OF_COMPILER = {
    "belay_program_open_compiled": [c_char_p, POINTER(OpenOptions), c_int32, _HANDLE],
    "belay_lower": [POINTER(Archive), c_size_t, POINTER(LowerOptions), _HANDLE],
    "belay_quantize": [POINTER(Archive), c_size_t, POINTER(LowerOptions), _HANDLE],
    "belay_verify": [POINTER(File), POINTER(File), POINTER(VerifyOptions), POINTER(c_int32), _HANDLE],
    "belay_inspect": [POINTER(File), _HANDLE],
    "belay_profile": [c_void_p, c_void_p, c_size_t, POINTER(ProfileOptions), _HANDLE],
    "belay_text_model_create": [c_void_p, POINTER(TextModelOptions), _HANDLE],
    "belay_text_model_encode": [c_void_p, c_char_p, c_size_t, c_int32, _HANDLE],
    "belay_text_model_decode": [c_void_p, POINTER(c_int32), c_size_t, c_int32, _HANDLE],
    "belay_text_model_end_tokens": [c_void_p, _HANDLE],
    "belay_text_model_render": [c_void_p, c_char_p, POINTER(ChatOptions), _HANDLE],
    "belay_session_create": [c_void_p, POINTER(SessionOptions), _HANDLE],
    "belay_session_append": [c_void_p, POINTER(c_int32), c_size_t, POINTER(ExecuteOptions)],
    "belay_session_append_messages": [
        c_void_p,
        c_char_p,
        POINTER(ChatOptions),
        POINTER(ExecuteOptions),
        POINTER(c_size_t),
    ],
    "belay_session_logits": [c_void_p, POINTER(POINTER(c_float))],
    "belay_session_cut": [c_void_p, c_size_t],
    "belay_session_fork": [c_void_p, _HANDLE],
    "belay_session_save": [c_void_p, _HANDLE],
    "belay_session_restore": [c_void_p, c_void_p, c_size_t],
    "belay_generation_create": [c_void_p, POINTER(GenerationOptions), _HANDLE],
    "belay_generation_next": [c_void_p, POINTER(GeneratedToken)],
    "belay_batch_create": [c_void_p, _HANDLE],
    "belay_batch_step": [c_void_p, POINTER(ExecuteOptions)],
}
# Other functions: their result and parameters.
_OTHERS = {
    "belay_abi_version": (c_uint32, []),
    "belay_status_name": (c_char_p, [c_int]),
    "belay_error_message": (c_char_p, [c_void_p]),
    "belay_error_nodes": (c_char_p, [c_void_p]),
    "belay_error_free": (None, [c_void_p]),
    "belay_bytes_data": (c_void_p, [c_void_p]),
    "belay_bytes_size": (c_size_t, [c_void_p]),
    "belay_bytes_free": (None, [c_void_p]),
    "belay_program_free": (None, [c_void_p]),
    "belay_program_num_methods": (c_size_t, [c_void_p]),
    "belay_program_num_banks": (c_size_t, [c_void_p, c_char_p]),
    "belay_program_method_name": (c_char_p, [c_void_p, c_size_t]),
    "belay_state_free": (None, [c_void_p]),
    "belay_state_num_buffers": (c_size_t, [c_void_p]),
    "belay_state_buffer_name": (c_char_p, [c_void_p, c_size_t]),
    "belay_state_reset": (None, [c_void_p]),
    "belay_method_free": (None, [c_void_p]),
    "belay_method_num_inputs": (c_size_t, [c_void_p]),
    "belay_method_num_outputs": (c_size_t, [c_void_p]),
    "belay_method_input_is_mutated": (c_int32, [c_void_p, c_size_t]),
    "belay_method_in_spec": (c_char_p, [c_void_p]),
    "belay_method_out_spec": (c_char_p, [c_void_p]),
    "belay_method_reset_state": (None, [c_void_p]),
}
_OTHERS_OF_COMPILER = {
    "belay_lowered_free": (None, [c_void_p]),
    "belay_lowered_bytes": (c_void_p, [c_void_p]),
    "belay_lowered_size": (c_size_t, [c_void_p]),
    "belay_lowered_report_text": (c_char_p, [c_void_p]),
    "belay_lowered_report_json": (c_char_p, [c_void_p]),
    "belay_lowered_report_html": (c_char_p, [c_void_p]),
    "belay_backends": (c_char_p, []),
    "belay_text_model_free": (None, [c_void_p]),
    "belay_text_model_vocabulary": (c_int64, [c_void_p]),
    "belay_text_model_context_length": (c_int64, [c_void_p]),
    "belay_text_model_has_tokenizer": (c_int32, [c_void_p]),
    "belay_text_model_has_chat_template": (c_int32, [c_void_p]),
    "belay_session_free": (None, [c_void_p]),
    "belay_session_num_tokens": (c_size_t, [c_void_p]),
    "belay_session_tokens": (POINTER(c_int32), [c_void_p]),
    "belay_generation_free": (None, [c_void_p]),
    "belay_batch_free": (None, [c_void_p]),
    "belay_batch_size": (c_size_t, [c_void_p]),
    "belay_batch_session": (c_void_p, [c_void_p, c_size_t]),
    "belay_command_line": (c_int, [c_int, POINTER(c_char_p)]),
}


def _load():
    """Returns the library and whether it lowers: the full one if it is installed."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib")
    for name, lowers in (("libbelay.so.1", True), ("libbelay_runtime.so.1", False)):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return ctypes.CDLL(path), lowers
    raise ImportError(f"expected libbelay.so.1 or libbelay_runtime.so.1 in {folder}")


def _declare(fallible, others):
    for name, parameters in fallible.items():
        function = getattr(lib, name)
        function.argtypes = parameters + [_ERROR]
        function.restype = c_int
    for name, (result, parameters) in others.items():
        function = getattr(lib, name)
        function.argtypes = parameters
        function.restype = result


lib, LOWERS = _load()
_declare(_FALLIBLE, _OTHERS)
if lib.belay_abi_version() < ABI_VERSION:
    raise ImportError(f"expected ABI version {ABI_VERSION} or later of the library, got {lib.belay_abi_version()}")
if LOWERS:
    _declare(_FALLIBLE_OF_COMPILER, _OTHERS_OF_COMPILER)


def require_compiler(function: str) -> None:
    """Raises UNIMPLEMENTED if only the runtime is installed."""
    if not LOWERS:
        raise Error("UNIMPLEMENTED", f"{function} needs the package 'belay'; only 'belay-runtime' is installed")


def error_of(status: int, error: c_void_p) -> Error:
    """Converts and frees an error of the library."""
    message = lib.belay_error_message(error).decode("utf-8", "replace")
    nodes = json.loads(lib.belay_error_nodes(error))
    lib.belay_error_free(error)
    return Error(lib.belay_status_name(status).decode(), message, nodes)


def call(name: str, *arguments) -> None:
    """Calls a fallible function; raises Error."""
    error = c_void_p()
    status = getattr(lib, name)(*arguments, byref(error))
    if status != 0:
        raise error_of(status, error)


def take_bytes(handle: c_void_p) -> bytes:
    """Returns the content of belay_bytes and frees it."""
    content = ctypes.string_at(lib.belay_bytes_data(handle), lib.belay_bytes_size(handle))
    lib.belay_bytes_free(handle)
    return content


def nanoseconds(timeout):
    """Returns the nanoseconds of a timeout in seconds; 0 without one."""
    return 0 if timeout is None else max(int(timeout * 1e9), 1)


def strings(values):
    """Returns an array of C strings, or None, and its length."""
    values = list(values)
    if not values:
        return None, 0
    return (c_char_p * len(values))(*(value.encode() for value in values)), len(values)


class Handle:
    """Owns an object of the library."""

    __slots__ = ("value", "_free", "_needs")

    def __init__(self, value: c_void_p, free, *needs):
        self.value = value.value
        self._free = free
        self._needs = needs  # objects that must outlive it

    def __del__(self):
        if getattr(self, "value", None):
            self._free(self.value)
            self.value = None
