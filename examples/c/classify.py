#!/usr/bin/env python3
"""What a device does with a program file, from Python, without PyTorch and without NumPy.

    classify.py LIBBELAY.so PROGRAM IMAGES.npy LABELS.npy

The declarations are those of belay.h that the example needs; any host that can call C does the same.
"""
import array
import ctypes
import sys

FLOAT32 = 7  # belay_dtype


class Tensor(ctypes.Structure):
    """belay_tensor."""

    _fields_ = [
        ("dtype", ctypes.c_int),
        ("rank", ctypes.c_int32),
        ("sizes", ctypes.c_int64 * 16),
        ("strides", ctypes.c_int64 * 16),
        ("data", ctypes.c_void_p),
    ]


class Library:
    """libbelay.so, whose errors become exceptions."""

    def __init__(self, path):
        self._library = ctypes.CDLL(path)
        self._library.belay_error_message.restype = ctypes.c_char_p
        self._library.belay_error_message.argtypes = [ctypes.c_void_p]
        self._library.belay_tensor_contiguous.restype = Tensor

    def call(self, name, *arguments):
        """Calls a function whose last parameter is the error."""
        error = ctypes.c_void_p()
        if getattr(self._library, name)(*arguments, ctypes.byref(error)) != 0:
            message = self._library.belay_error_message(error).decode()
            self._library.belay_error_free(error)
            raise RuntimeError(message)

    def contiguous(self, dtype, sizes, data):
        return self._library.belay_tensor_contiguous(
            dtype, len(sizes), (ctypes.c_int64 * len(sizes))(*sizes), data)

    def free(self, kind, handle):
        getattr(self._library, "belay_%s_free" % kind)(handle)


def read_npy(path, typecode):
    """The elements of a .npy file of version 1, whose dtype we know."""
    with open(path, "rb") as file:
        content = file.read()
    elements = array.array(typecode)
    elements.frombytes(content[10 + int.from_bytes(content[8:10], "little"):])
    return elements


def main(library_path, program_path, images_path, labels_path):
    library = Library(library_path)
    images, labels = read_npy(images_path, "f"), read_npy(labels_path, "q")
    program, method = ctypes.c_void_p(), ctypes.c_void_p()
    library.call("belay_program_open", program_path.encode(), None, ctypes.byref(program))
    library.call("belay_method_load", program, b"forward", None, ctypes.byref(method))
    images_input = library.contiguous(FLOAT32, (len(labels), 1, 8, 8),
                                      ctypes.c_void_p(images.buffer_info()[0]))
    scores = Tensor()
    library.call("belay_method_set_tensor", method, ctypes.c_size_t(0), ctypes.byref(images_input))
    library.call("belay_method_execute", method, None)
    library.call("belay_method_get_tensor", method, ctypes.c_size_t(0), ctypes.byref(scores))
    values = ctypes.cast(scores.data, ctypes.POINTER(ctypes.c_float))
    correct = 0
    for i, label in enumerate(labels):
        row = values[10 * i:10 * i + 10]
        correct += row.index(max(row)) == label
    print("%d of %d images are classified as labeled" % (correct, len(labels)))
    library.free("method", method)
    library.free("program", program)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
