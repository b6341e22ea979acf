#!/usr/bin/env python3
"""Prints the reference hashes in tests/image/resize_test.cpp and preprocess_test.cpp (Pillow 9.4.0).

The pictures are made by the generator of tests/image/test_images.h, so nothing but Pillow is needed.
"""
from PIL import Image


def noise(width, height, seed=1):
    data = bytearray()
    for _ in range(width * height * 3):
        seed = (seed * 1664525 + 1013904223) & 0xFFFFFFFF
        data.append(seed >> 24)
    return Image.frombytes("RGB", (width, height), bytes(data))


def fnv(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return "0x%016X" % value


def square(image, side):
    longest = max(image.size)
    canvas = Image.new("RGB", (longest, longest), (122, 116, 104))
    canvas.paste(image, ((longest - image.width) // 2, (longest - image.height) // 2))
    return canvas.resize((side, side), Image.BICUBIC)


FILTERS = {"Bilinear": Image.BILINEAR, "Bicubic": Image.BICUBIC, "Lanczos": Image.LANCZOS}
for source, target in [((97, 61), (33, 40)), ((97, 61), (200, 61)), ((97, 61), (97, 25)), ((40, 30), (113, 97)),
                       ((300, 7), (13, 29)), ((2, 2), (7, 5))]:
    for name, resample in FILTERS.items():
        print("{{%d, %d}, {%d, %d}, Filter::%s, %s}," % (*source, *target, name,
                                                         fnv(noise(*source).resize(target, resample).tobytes())))
for source in [(97, 61), (61, 97), (50, 50), (400, 301), (336, 336), (337, 20), (3, 500)]:
    print("{{%d, %d}, %s}," % (*source, fnv(square(noise(*source), 336).tobytes())))
