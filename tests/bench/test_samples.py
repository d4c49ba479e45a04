"""No sample is lost or repeated in a few of the benchmark's jobs; other samplers do lose some."""

from pathlib import Path
from typing import Any

import pytest

from bench.train.samples import history, peers, session


@pytest.mark.parametrize("seed", range(4))
def test_every_sample_counts_once_whatever_happens_to_the_ranks(seed: int, tmp_path: Path) -> None:
    verdict = session.play(history.draw(seed), tmp_path)
    assert verdict.is_exact, verdict.problems
    assert verdict.epochs_checked == 2


def test_a_checkpoint_that_is_one_sample_ahead_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = session._save

    def ahead(*arguments: Any, parent: Any) -> None:
        position = arguments[2]
        kept, position.cursor = position.cursor, position.cursor + (position.step > 0)
        save(*arguments, parent=parent)
        position.cursor = kept

    monkeypatch.setattr(session, "_save", ahead)
    assert session.play(history.draw(0), tmp_path).lost > 0


@pytest.mark.parametrize("peer", [peers.Skipped(), peers.TorchElastic()], ids=lambda p: p.name)
def test_a_position_of_each_rank_and_a_new_shuffle_lose_samples(peer: peers.Peer) -> None:
    made = peers.play(history.draw(0), peer)
    assert made.lost > 0
    assert made.repeated > 0


@pytest.mark.parametrize("peer", [peers.Restarted(), peers.Skipped(), peers.TorchElastic()])
def test_in_one_undisturbed_world_every_sampler_is_exact(peer: peers.Peer) -> None:
    alone = history.World(size=7, steps=None, ends_by="notice")
    drawn = history.draw(1)
    calm = history.History(**{**vars(drawn), "worlds": (alone,)})
    assert peers.play(calm, peer) == peers.Mistakes(lost=0, repeated=0)
