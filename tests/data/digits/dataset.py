"""The handwritten digits bundled with scikit-learn: a fixed split, and the way between an image file and a tensor.

Each of the 1797 images is 8 x 8 with levels 0 to 16; the network sees them as float32 [N, 1, 8, 8] in 0 to 1.
"""

import struct
import zlib
from pathlib import Path

import numpy as np

SIZE = 8
LEVELS = 16
UPSCALE = 8
HELD_OUT_EVERY = 5
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def load_split() -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """((images, labels) to train on, (images, labels) held out). Every fifth sample is held out.

    The split is by index, not by a random generator, so that it is the same with every version of numpy.
    """
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = (digits.images[:, np.newaxis] / LEVELS).astype(np.float32)
    labels = digits.target.astype(np.int64)
    held_out = np.arange(len(labels)) % HELD_OUT_EVERY == HELD_OUT_EVERY - 1
    return (images[~held_out], labels[~held_out]), (images[held_out], labels[held_out])


def image_to_pixels(image: np.ndarray) -> np.ndarray:
    """A tensor [1, 8, 8] as uint8 [64, 64]: every value becomes a block of equal pixels."""
    pixels = np.rint(image[0] * 255).astype(np.uint8)
    return pixels.repeat(UPSCALE, axis=0).repeat(UPSCALE, axis=1)


def pixels_to_image(pixels: np.ndarray) -> np.ndarray:
    """Gray pixels of a multiple of 8 x 8 as a tensor [1, 8, 8]: area average, then 0..255 to 0..1."""
    rows, columns = (extent // SIZE for extent in pixels.shape)
    blocks = pixels.reshape(SIZE, rows, SIZE, columns).mean(axis=(1, 3))
    return (blocks[np.newaxis] / 255).astype(np.float32)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def write_png(path: Path, pixels: np.ndarray) -> None:
    """Writes uint8 [height, width] as an 8-bit grayscale PNG."""
    height, width = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    chunks = _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(rows, 9)) + _chunk(b"IEND", b"")
    path.write_bytes(_SIGNATURE + chunks)


def read_png(path: Path) -> np.ndarray:
    """Reads what `write_png` wrote (8-bit gray, rows unfiltered); raises ValueError for any other PNG."""
    data = path.read_bytes()
    if not data.startswith(_SIGNATURE):
        raise ValueError(f"{path}: not a PNG file")
    offset, body, width, height = len(_SIGNATURE), b"", 0, 0
    while offset < len(data):
        length, kind = struct.unpack_from(">I4s", data, offset)
        chunk = data[offset + 8:offset + 8 + length]
        if kind == b"IHDR":
            width, height, *rest = struct.unpack(">IIBBBBB", chunk)
            if rest != [8, 0, 0, 0, 0]:
                raise ValueError(f"{path}: not 8-bit gray")
        elif kind == b"IDAT":
            body += chunk
        offset += 12 + length
    rows = np.frombuffer(zlib.decompress(body), np.uint8).reshape(height, width + 1)
    if rows[:, 0].any():
        raise ValueError(f"{path}: filtered rows")
    return rows[:, 1:]
