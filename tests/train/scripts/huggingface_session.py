"""A tiny language model on made-up sentences, by Hugging Face's Trainer.

    huggingface_session.py OUTPUT [--pause SECONDS] [--epochs N]

Without --epochs it goes on until the file OUTPUT/enough is there. Writes OUTPUT/final.json.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, TrainerCallback, TrainingArguments

import spotrain.train as elastic
from spotrain.train.huggingface import ElasticTrainer

SAMPLES, BATCH, ACCUMULATED = 400, 2, 2

parser = argparse.ArgumentParser()
parser.add_argument("output", type=Path)
parser.add_argument("--pause", type=float, default=0.01)
parser.add_argument("--epochs", type=int, default=100_000)
options = parser.parse_args()


class Sentences(Dataset[dict[str, torch.Tensor]]):
    """Rising numbers from a random beginning."""

    def __init__(self, count: int) -> None:
        begin = torch.randint(0, 16, (count, 1), generator=torch.Generator().manual_seed(1))
        self.tokens = (begin + torch.arange(8)) % 16

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, number: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.tokens[number], "labels": self.tokens[number]}


class Watch(TrainerCallback):
    """Ends training once the test says so."""

    def __init__(self, run: elastic.Run) -> None:
        self.run = run

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        time.sleep(options.pause)
        print(f"epoch {state.epoch:.3f} step {state.global_step} of {state.max_steps}", flush=True)

    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        enough = torch.tensor(int((options.output / "enough").exists()))
        control.should_training_stop |= bool(self.run.sum(enough))


def train(run: elastic.Run) -> None:
    torch.set_num_threads(1)
    config = GPT2Config(
        vocab_size=16,
        n_positions=8,
        n_embd=16,
        n_layer=1,
        n_head=2,
        bos_token_id=0,
        eos_token_id=0,
    )
    arguments = TrainingArguments(
        output_dir=str(options.output / "trainer"),
        num_train_epochs=options.epochs,
        per_device_train_batch_size=BATCH,
        gradient_accumulation_steps=ACCUMULATED,
        learning_rate=0.01,
        eval_strategy="epoch",
        save_strategy="no",
        logging_steps=5,
        report_to="none",
        disable_tqdm=True,
    )
    trainer = ElasticTrainer(
        run,
        model=GPT2LMHeadModel(config),
        args=arguments,
        train_dataset=Sentences(SAMPLES),
        eval_dataset=Sentences(50),
        callbacks=[Watch(run)],
    )
    trainer.train()
    if run.is_main:
        evaluated = [line for line in trainer.state.log_history if "eval_loss" in line]
        final = {
            "epochs": round(trainer.state.epoch),
            "steps": trainer.state.global_step,
            "evaluations": len(evaluated),
            "eval_loss": evaluated[-1]["eval_loss"],
            "lr": trainer.optimizer.param_groups[0]["lr"],
            "weights": [float(w.detach().double().sum()) for w in trainer.model.parameters()],
        }
        (options.output / "final.json").write_text(json.dumps(final))


elastic.run(train, output=options.output, checkpoint_seconds=0.5)
