"""Hugging Face's Trainer, elastic and exact: `pip install 'spotrain[transformers]'`.

    import spotrain.train as elastic
    from spotrain.train.huggingface import ElasticTrainer

    def train(run):                             # called again, in this process, in each new world
        trainer = ElasticTrainer(run, model=build(), args=arguments, train_dataset=data)
        trainer.train()

    elastic.run(train, output="/mnt/efs/output/run1")

Model, arguments, data sets and callbacks stay as they are.
"""

from spotrain.train.huggingface.trainer import ElasticTrainer

__all__ = ["ElasticTrainer"]
