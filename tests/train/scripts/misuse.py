"""Wrong uses of the training library: `misuse.py OUTPUT MODE`."""

import sys
from collections.abc import Iterator

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

import spotrain.train as elastic

output, mode = sys.argv[1:]


class Stream(IterableDataset):  # type: ignore[type-arg]
    def __iter__(self) -> Iterator[torch.Tensor]:
        return iter(())


def train(run: elastic.Run) -> None:
    width = 9 if mode == "other-model" else 8
    model = run.wrap(nn.Linear(8, width))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = TensorDataset(torch.randn(0 if mode == "empty" else 32, 8))
    accumulate = 2 if mode in ("within-step", "unweighed") else 1
    dataset = Stream() if mode == "stream" else data
    loader = run.loader(dataset, batch_size=8, accumulate=accumulate)
    if mode == "loader-twice":
        run.loader(data, batch_size=8)
    if mode != "untracked":
        run.track(model=model, optimizer=optimizer)
    if mode == "track-twice":
        run.track(model=model)
    batches = DataLoader(data, batch_size=8) if mode == "plain-loader" else loader
    for _epoch in run.epochs(1):
        for (x,) in batches:
            model(x).sum().backward()
            optimizer.step()
            if mode != "no-step" and (loader.ends_step or mode == "within-step"):
                run.step()
            if mode == "step-twice":
                run.step()


elastic.run(train, output=output)
