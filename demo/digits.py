"""Real handwritten digits as an image folder: scikit-learn's 1,797 scans of 8 x 8 pixels.

Source: E. Alpaydin, C. Kaynak, Optical Recognition of Handwritten Digits, UCI Machine Learning
Repository, 1998, as it ships with scikit-learn.
"""

from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

VAL_EVERY = 5
"""Every fifth image is for validation: 1,437 to train on, 360 to judge by."""
FULL_INK = 16
"""Brightest value in the data set."""


def write_digits(folder: Path) -> int:
    """Write train/<digit>/*.png and val/<digit>/*.png; returns the number of training images."""
    digits = load_digits()
    count = 0
    for number, (pixels, label) in enumerate(zip(digits.images, digits.target, strict=True)):
        part = "val" if number % VAL_EVERY == 0 else "train"
        count += part == "train"
        path = folder / part / str(label) / f"{number:04d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        shades = (pixels * (255 / FULL_INK)).astype(np.uint8)
        Image.fromarray(shades).save(path)
    return count
