"""Lowers, verifies and runs the digits classifier. digits_test.py ARCHIVE IMAGES LABELS"""

import ast
import array
import sys

import belay


def read_npy(path, code):
    """Elements and sizes of a .npy file of version 1."""
    with open(path, "rb") as file:
        header = file.read(10)
        described = ast.literal_eval(file.read(header[8] + 256 * header[9]).decode("latin-1"))
        return array.array(code, file.read()), described["shape"]


def main():
    archive, images, labels = sys.argv[1:]
    program = belay.lower(archive)
    assert belay.verify(archive, program)
    pixels, sizes = read_npy(images, "f")
    expected, _ = read_npy(labels, "q")
    scores = program(memoryview(pixels).cast("B").cast("f", sizes)).tolist()
    correct = sum(row.index(max(row)) == label for row, label in zip(scores, expected))
    print(f"{correct} of {len(scores)} images are classified as labeled")
    assert (correct, len(scores)) == (358, 360)


if __name__ == "__main__":
    main()
