"""Train a tiny language model with Hugging Face's Trainer, on nodes that come and go.

The model is made from a configuration and the sentences are made up (numbers that rise), so nothing
is downloaded; put your own model and data set in their place. Try it on one CPU, then on one
machine with two processes, then as the command of an ElasticJob, in an image that has transformers
(--build-arg FRAMEWORKS=transformers):

    python huggingface_tiny.py --epochs 2 --output /tmp/run1
    spotrain-run --standalone --nproc-per-node 2 huggingface_tiny.py --output out
    spotrain-run huggingface_tiny.py --output /mnt/efs/output/run1

Run again with the same --output, it goes on where the newest checkpoint ends. What is ours here is
`elastic.run` and `ElasticTrainer`.
"""

import argparse

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, TrainingArguments

import spotrain.train as elastic
from spotrain.train.huggingface import ElasticTrainer

WORDS, LENGTH = 32, 16


class Sentences(Dataset[dict[str, torch.Tensor]]):
    """Rising numbers from a random beginning, the same in every process."""

    def __init__(self, count: int, *, seed: int) -> None:
        begin = torch.randint(0, WORDS, (count, 1), generator=torch.Generator().manual_seed(seed))
        self.tokens = (begin + torch.arange(LENGTH)) % WORDS

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, number: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.tokens[number], "labels": self.tokens[number]}


def build() -> GPT2LMHeadModel:
    size = {"n_positions": LENGTH, "n_embd": 32, "n_layer": 2, "n_head": 2}
    return GPT2LMHeadModel(GPT2Config(vocab_size=WORDS, bos_token_id=0, eos_token_id=0, **size))


def parse() -> argparse.Namespace:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--epochs", type=int, default=3, help="times that every sentence is seen")
    parser.add_argument("--batch-size", type=int, default=8, help="sentences per rank and step")
    parser.add_argument(
        "--output", default="output", help="folder that all workers share, s3:// or gs://"
    )
    return parser.parse_args()


def main() -> None:
    options = parse()

    def train(run: elastic.Run) -> None:
        arguments = TrainingArguments(
            output_dir="trainer",
            num_train_epochs=options.epochs,
            per_device_train_batch_size=options.batch_size,
            learning_rate=3e-3,
            eval_strategy="epoch",
            save_strategy="no",  # the run keeps checkpoints; the Trainer's own are not fenced
            report_to="none",
        )
        trainer = ElasticTrainer(
            run,
            model=build(),
            args=arguments,
            train_dataset=Sentences(2000, seed=1),
            eval_dataset=Sentences(200, seed=2),
        )
        trainer.train()
        if run.is_main:
            print(trainer.state.log_history[-1], flush=True)

    elastic.run(train, output=options.output)


if __name__ == "__main__":
    main()
