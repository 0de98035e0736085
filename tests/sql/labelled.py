"""Simulated stores with a judge that is wrong in a known way, and people who label a sample: the truth is known.

Every judge of the store is a world of its own with its own answers, so that one query gives many repetitions.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from flows.pipeline.sampling import Candidate, draw_candidates
from tests.sql.tiny import Rows, answer, compaction, judge, method, point, probe, session

TRUTH = {"good": 3.4, "fair": 2.6, "poor": 1.9}
"""What people would give on average, by method."""
LENIENT = {"good": 0.5, "fair": 0.8, "poor": 1.2}
"""What the judge gives beyond that: the worse the method, the more lenient it is."""


@dataclass(frozen=True)
class World:
    """How a simulated store is made."""

    worlds: int
    sessions: int = 12
    answers: tuple[int, int] = (3, 15)
    """Of a method in a session: at least, at most."""
    labels: int = 90
    between: float = 0.35
    """Standard deviation of a session's effect on a method, on what people give."""
    within: float = 0.6
    noise: float = 0.4
    """Of the judge, in an answer."""
    noise_of_session: float = 0.15


def simulate_store(world: World, seed: int) -> Rows:
    """The rows of the store."""
    rng = Random(seed)
    names = [f"s{number:02d}" for number in range(world.sessions)]
    rows: Rows = {
        "sessions": [session(name) for name in names],
        "points": [point(f"p-{name}", name, 1000) for name in names],
        "methods": [method(name, name) for name in TRUTH],
        "compactions": [compaction(m, f"p-{s}", 1000, 100) for m in TRUTH for s in names],
        "probes": [probe(f"q-{s}", f"p-{s}") for s in names],
        "criteria": [
            {"rubric": "tiny@1", "criterion": "facts", "dimension": "accuracy", "weight": 1.0, "question": "Right?"}
        ],
        "judges": [],
        "answers": [],
        "scores": [],
        "human_scores": [],
        "label_samples": [],
    }
    for number in range(world.worlds):
        _add(rows, world, f"j{number:04d}", names, rng)
    return rows


def _add(rows: Rows, world: World, judge_id: str, names: list[str], rng: Random) -> None:
    candidates: list[Candidate] = []
    human: dict[str, float] = {}
    rows["judges"].append(judge(judge_id, judge_id))
    for m, mean in TRUTH.items():
        for s in names:
            people, own = rng.gauss(0, world.between), rng.gauss(0, world.noise_of_session)
            for number in range(rng.randint(*world.answers)):
                id = f"{judge_id}/{m}/{s}/{number}"
                label = mean + people + rng.gauss(0, world.within)
                score = _clip_score(mean + LENIENT[m] + 0.8 * (label - mean) + own + rng.gauss(0, world.noise))
                human[id] = _clip_score(label)
                candidates.append(Candidate(id, m, "recall", score, s))
                rows["answers"].append(answer(m, f"p-{s}", f"q-{s}", answer_id=id, replicate=number))
                rows["scores"].append(
                    {
                        "answer_id": id,
                        "judge_id": judge_id,
                        "judge_replicate": 0,
                        "dimension": "accuracy",
                        "criterion": "facts",
                        "score": score,
                    }
                )
    for one, chance in draw_candidates(candidates, world.labels, judge_id).items():
        rows["human_scores"].append(
            {
                "answer_id": one,
                "rater": "ada",
                "criterion": "facts",
                "score": human[one],
                "sample_id": judge_id,
            }
        )
        rows["label_samples"].append(
            {
                "sample_id": judge_id,
                "answer_id": one,
                "judge_id": judge_id,
                "probability": chance,
                "probe_type": "recall",
                "score_band": "low",
                "seed": judge_id,
                "drawn_at": "2026-01-01T00:00:00Z",
            }
        )


def _clip_score(score: float) -> float:
    """The score, clipped to the scale; the true values are chosen so that this hardly ever changes it."""
    return min(5.0, max(0.0, score))


COVERAGE = f"""
SELECT
    avg((raw_ci_low <= truth AND truth <= raw_ci_high)::INT) AS raw,
    avg((ci_low <= truth AND truth <= ci_high)::INT) AS corrected,
    avg((pooled_ci_low <= truth AND truth <= pooled_ci_high)::INT) AS pooled,
    avg(ci_high - ci_low) / avg(raw_ci_high - raw_ci_low) AS width,
    avg(corrected - truth) AS bias,
    avg(judge_weight) AS judge_weight,
    count(*) FILTER (rectifier_of = 'method') AS n_own,
    count(*) AS n
FROM leaderboard_corrected
JOIN (VALUES {", ".join(f"('{name}', {truth}::DOUBLE)" for name, truth in TRUTH.items())}) AS of_people(name, truth)
    ON name = method
WHERE dimension = 'overall'
"""
