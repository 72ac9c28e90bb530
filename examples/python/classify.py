"""The device side in Python: opens a program file, executes it, and reads the result.

classify.py LIBRARY PROGRAM IMAGES.npy LABELS.npy
"""

import ast
import sys

import belay


def read_npy(path, code):
    """The .npy file of version 1 at `path`, whose elements are of this type code."""
    with open(path, "rb") as file:
        header = file.read(10)
        described = ast.literal_eval(file.read(header[8] + 256 * header[9]).decode("latin-1"))
        elements = belay.array.array(code)
        elements.frombytes(file.read())
    if described["descr"] != {"f": "<f4", "q": "<i8"}[code] or described["fortran_order"]:
        raise ValueError(f"{path}: expected elements of '{code}' in row-major order, got {described}")
    return belay.Tensor(code, described["shape"], elements)


def main(arguments):
    if len(arguments) != 4:
        print("usage: classify.py LIBRARY PROGRAM IMAGES.npy LABELS.npy", file=sys.stderr)
        return 2
    library, program, images, labels = arguments
    try:
        method = belay.Library(library).load(program)
        [scores] = method(read_npy(images, "f"))
    except (belay.Error, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    wanted = read_npy(labels, "q").elements
    count, classes = scores.sizes
    correct = 0
    for i in range(count):
        row = scores.elements[classes * i : classes * (i + 1)]
        correct += row.index(max(row)) == wanted[i]
    print(f"{correct} of {count} images are classified as labeled")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
