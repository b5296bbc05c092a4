"""Small encoded images, written by hand, with the pixels that a decoder has to give: (name, bytes, array of red, green, blue)."""

import struct
import zlib

import numpy as np

SEED = np.random.default_rng(5)
RGB = SEED.integers(0, 256, (5, 7, 3), dtype=np.uint8)
GRAY = SEED.integers(0, 256, (5, 7), dtype=np.uint8)
DEEP = SEED.integers(0, 65536, (5, 7), dtype=np.uint16)
BITS = SEED.integers(0, 2, (5, 11), dtype=np.uint8)
PALETTE = np.array([[250, 1, 2], [3, 240, 4], [5, 6, 230], [9, 9, 9]], np.uint8)
INDEXES = SEED.integers(0, 4, (5, 7), dtype=np.uint8)


def grey(values) -> np.ndarray:
    return np.repeat(np.asarray(values, np.uint8)[:, :, None], 3, axis=2)


def scaled(values, most: int) -> np.ndarray:
    return ((values.astype(np.int64) * 255 + most // 2) // most).astype(np.uint8)


# ---- BMP ----


def bmp(rows: list[bytes], width: int, bits: int, palette: bytes = b"", compression: int = 0, masks=(), top_down=False) -> bytes:
    rows = rows if top_down else rows[::-1]
    pixels = b"".join(row + bytes(-len(row) % 4) for row in rows)
    after = struct.pack(f"<{len(masks)}I", *masks) + palette
    info = struct.pack("<IiiHHIIiiII", 40, width, -len(rows) if top_down else len(rows), 1, bits, compression, len(pixels), 0, 0,
                       len(palette) // 4, 0)
    offset = 14 + len(info) + len(after)
    return b"BM" + struct.pack("<IHHI", offset + len(pixels), 0, 0, offset) + info + after + pixels


def bmps():
    bgr = [row[:, ::-1].tobytes() for row in RGB]
    yield "bmp_24", bmp(bgr, 7, 24), RGB
    yield "bmp_24_from_the_top", bmp(bgr, 7, 24, top_down=True), RGB
    colours = b"".join(bytes([b, g, r, 0]) for r, g, b in PALETTE)
    yield "bmp_8", bmp([row.tobytes() for row in INDEXES], 7, 8, colours), PALETTE[INDEXES]
    nibbles = [bytes((int(row[i]) << 4) | (int(row[i + 1]) if i + 1 < 7 else 0) for i in range(0, 7, 2)) for row in INDEXES]
    yield "bmp_4", bmp(nibbles, 7, 4, colours), PALETTE[INDEXES]
    yield "bmp_1", bmp([np.packbits(row).tobytes() for row in BITS], 11, 1, colours[:8]), PALETTE[BITS]
    words = [(row[:, 0].astype(np.uint16) >> 3 << 11) | (row[:, 1].astype(np.uint16) >> 2 << 5) | (row[:, 2] >> 3) for row in RGB]
    wanted = np.stack([scaled(RGB[:, :, 0] >> 3, 31), scaled(RGB[:, :, 1] >> 2, 63), scaled(RGB[:, :, 2] >> 3, 31)], 2)
    yield "bmp_16_565", bmp([row.astype("<u2").tobytes() for row in words], 7, 16, b"", 3, (0xf800, 0x7e0, 0x1f)), wanted
    wide = [b"".join(bytes([r, g, b, 77]) for r, g, b in row) for row in RGB]
    yield "bmp_32_masks", bmp(wide, 7, 32, b"", 3, (0xff, 0xff00, 0xff0000)), RGB


# ---- PNM ----


def text(values) -> bytes:
    return b"\n".join(b" ".join(str(v).encode() for v in row.reshape(-1)) for row in values)


def pnms():
    yield "pnm_6", b"P6\n# a comment\n7 5\n255\n" + RGB.tobytes(), RGB
    yield "pnm_5", b"P5 7 5 255\n" + GRAY.tobytes(), grey(GRAY)
    yield "pnm_5_deep", b"P5 7 5 65535\n" + DEEP.astype(">u2").tobytes(), grey(scaled(DEEP, 65535))
    yield "pnm_4", b"P4 11 5\n" + b"".join(np.packbits(row).tobytes() for row in BITS), grey((1 - BITS) * 255)
    yield "pnm_3", b"P3 7 5 255\n" + text(RGB) + b"\n", RGB
    yield "pnm_2", b"P2 7 5 3\n" + text(INDEXES), grey(INDEXES * 85)
    yield "pnm_1", b"P1 11 5\n" + text(BITS).replace(b" ", b""), grey((1 - BITS) * 255)


# ---- PNG ----


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(width, height, bits, kind, rows, extra=b"", interlaced=0) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, interlaced)
    data = zlib.compress(b"".join(b"\0" + row for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def adam7(pixels):
    for y0, x0, dy, dx in ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)):
        part = pixels[y0::dy, x0::dx]
        yield from (row.tobytes() for row in part if row.size)


def pngs():
    yield "png_rgb", png(7, 5, 8, 2, [row.tobytes() for row in RGB]), RGB
    yield "png_interlaced", png(7, 5, 8, 2, list(adam7(RGB)), interlaced=1), RGB
    yield "png_grey_1", png(11, 5, 1, 0, [np.packbits(row).tobytes() for row in BITS]), grey(BITS * 255)
    yield "png_grey_16", png(7, 5, 16, 0, [row.astype(">u2").tobytes() for row in DEEP]), grey(scaled(DEEP, 65535))
    opaque = np.concatenate([RGB, GRAY[:, :, None]], 2)
    yield "png_alpha_is_dropped", png(7, 5, 8, 6, [row.tobytes() for row in opaque]), RGB
    colours = chunk(b"PLTE", PALETTE.tobytes()) + chunk(b"tRNS", b"\0\x80")
    yield "png_palette", png(7, 5, 8, 3, [row.tobytes() for row in INDEXES], colours), PALETTE[INDEXES]


# ---- TIFF ----


def tiff(width, height, bits, photometric, samples, pixels: bytes, order="<", extra=(), rows_per_strip=None) -> bytes:
    rows_per_strip = rows_per_strip or height
    stride = len(pixels) // height
    strips = [pixels[y * stride:(y + rows_per_strip) * stride] for y in range(0, height, rows_per_strip)]
    head = 8
    offsets, at = [], head
    for strip in strips:
        offsets.append(at)
        at += len(strip)
    tags = [(256, 4, [width]), (257, 4, [height]), (258, 3, [bits] * samples), (259, 3, [1]), (262, 3, [photometric]),
            (273, 4, offsets), (277, 3, [samples]), (278, 4, [rows_per_strip]), (279, 4, [len(strip) for strip in strips]), *extra]
    tags.sort()
    directory, after = struct.pack(order + "H", len(tags)), b""
    values_at = at + 2 + 12 * len(tags) + 4
    for tag, kind, values in tags:
        data = struct.pack(order + str(len(values)) + {3: "H", 4: "I"}[kind], *values)
        if len(data) > 4:
            where, after = struct.pack(order + "I", values_at + len(after)), after + data
        else:
            where = data + bytes(4 - len(data))
        directory += struct.pack(order + "HHI", tag, kind, len(values)) + where
    magic = (b"II" if order == "<" else b"MM") + struct.pack(order + "HI", 42, at)
    return magic + b"".join(strips) + directory + bytes(4) + after


def tiffs():
    yield "tiff_rgb_strips", tiff(7, 5, 8, 2, 3, RGB.tobytes(), rows_per_strip=2), RGB
    yield "tiff_big_endian", tiff(7, 5, 8, 2, 3, RGB.tobytes(), order=">"), RGB
    yield "tiff_grey", tiff(7, 5, 8, 1, 1, GRAY.tobytes()), grey(GRAY)
    yield "tiff_white_is_zero", tiff(7, 5, 8, 0, 1, GRAY.tobytes()), grey(255 - GRAY)
    opaque = np.concatenate([RGB, GRAY[:, :, None]], 2).tobytes()
    yield "tiff_alpha_is_dropped", tiff(7, 5, 8, 2, 4, opaque, extra=[(338, 3, [2])]), RGB
    for way, turned in ((2, RGB[:, ::-1]), (3, RGB[::-1, ::-1]), (4, RGB[::-1])):
        yield f"tiff_orientation_{way}", tiff(7, 5, 8, 2, 3, RGB.tobytes(), extra=[(274, 3, [way])], rows_per_strip=2), turned


def pictures():
    return [*bmps(), *pnms(), *pngs(), *tiffs()]


# ---- What must be refused: (name, bytes, part of the message) ----


def refused(samples: dict[str, bytes]):
    """`samples`: an encoded image of 32 x 32 pixels per format."""
    big = 60000
    yield "no_image", b"GIF89a" + bytes(20), "are not an image in BMP, JPEG"
    yield "empty", b"", "the data is empty"
    yield "png_huge", png(big, big, 8, 2, [b""]), "PNG: the image is 60000 x 60000|PNG: 60000 x 60000 pixels do not fit"
    yield "png_large", png(16000, 16000, 8, 2, [b""]), "PNG: 16000 x 16000 pixels do not fit"
    yield "bmp_huge", bmp([b""], 2**31 - 1, 24), "BMP: 2147483647 x 1 pixels"
    yield "bmp_no_pixels", bmp([b""], 0, 24), "BMP: the image is 0 x 1 pixels"
    yield "bmp_rle", bmp([b"\0\1"], 4, 8, bytes(8), 1), r"BMP: compression 1 \(RLE8\)"
    yield "bmp_colour", bmp([b"\7\7\7\7"], 4, 8, bytes(8)), "BMP: colour 7 is outside the palette of 2 colours"
    yield "bmp_lowest_height", b"BM" + struct.pack("<IHHIIiiHHIIiiII", 54, 0, 0, 54, 40, 1, -2**31, 1, 24, 0, 0, 0, 0, 0, 0), "BMP: 1 x 2147483648"
    yield "pnm_huge", b"P6 4294967295 4294967295 255\n" + bytes(100), "PNM: 4294967295 x 4294967295 pixels"
    yield "pnm_number", b"P6 99999999999999999999 1 255\n" + bytes(100), "PNM: the width is too large"
    yield "pnm_value", b"P5 1 1 9\n\x0a", "PNM: a pixel is 10, and the largest value is 9"
    yield "pnm_no_most", b"P5 1 1 0\n\x0a", "PNM: the largest value is 0"
    yield "tiff_large", tiff(9000, 1, 8, 2, 3, RGB.tobytes()), "TIFF: "
    yield "tiff_orientation", tiff(7, 5, 8, 2, 3, RGB.tobytes(), extra=[(274, 3, [6])]), "TIFF: orientation 6 is not supported"
    jpeg = bytearray(samples["jpeg"])
    at = jpeg.index(b"\xff\xc0") + 5
    jpeg[at:at + 4] = struct.pack(">HH", big, big)
    yield "jpeg_huge", bytes(jpeg), "JPEG: 60000 x 60000 pixels do not fit|JPEG: the image is 60000 x 60000"
    j2k = bytearray(samples["jpeg2k"])
    at = j2k.index(b"\xff\x4f\xff\x51") + 8
    j2k[at:at + 8] = struct.pack(">II", big, big)
    yield "jpeg2k_huge", bytes(j2k), "JPEG 2000: "
