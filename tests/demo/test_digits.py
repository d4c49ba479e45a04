"""The demonstration's data: real digits as the image folder that training scripts read."""

from pathlib import Path

from torchvision.datasets import ImageFolder

from demo.digits import write_digits


def test_every_digit_is_in_exactly_one_part(tmp_path: Path) -> None:
    assert write_digits(tmp_path) == 1437
    train, val = ImageFolder(str(tmp_path / "train")), ImageFolder(str(tmp_path / "val"))
    assert (len(train), len(val)) == (1437, 360)
    assert train.classes == val.classes == [str(digit) for digit in range(10)]
    names = {Path(path).name for path, _ in train.samples + val.samples}
    assert len(names) == 1797
