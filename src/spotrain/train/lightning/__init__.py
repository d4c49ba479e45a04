"""PyTorch Lightning, elastic and exact: `pip install 'spotrain[lightning]'`.

    import lightning as L
    import spotrain.train as elastic
    from spotrain.train.lightning import ElasticStrategy

    def train(run):                             # called again, in this process, in each new world
        trainer = L.Trainer(max_epochs=20, strategy=ElasticStrategy(run))
        trainer.fit(Digits(), train_loader, val_loader)

    elastic.run(train, output="/mnt/efs/output/run1")

The module, the data loaders and the trainer's other arguments stay as they are.
"""

from spotrain.train.lightning.strategy import ElasticStrategy

__all__ = ["ElasticStrategy"]
