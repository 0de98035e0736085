"""inspect_ai's own grading of the answers that ``test_judging`` judges: its scorer, its client and its cache."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

from inspect_ai.model import (
    ChatMessageUser,
    GenerateConfig,
    ModelName,
    ModelOutput,
    get_model,
)
from inspect_ai.scorer import CORRECT, Scorer, Target, model_graded_qa
from inspect_ai.solver import TaskState

from judge import JudgeCase
from tests.benchmarks.test_judging import IN_FLIGHT, cases
from tests.flows.llm.server import serving

MODEL = "openai/wren-2"


def grade_cold_and_warm(folder: Path, calls: int, delay: float) -> tuple[float, float]:
    """CPU seconds of this process for all grades, asked for once and then taken from inspect's cache."""
    given = cases(calls)
    known = {"INSPECT_CACHE_DIR": str(folder / "inspect"), "INSPECT_TRACE_FILE": str(folder / "trace.log")}
    with patch.dict(os.environ, known), serving(text="It names the cause.\n\nGRADE: C", delay=delay) as url:
        model = get_model(
            MODEL,
            base_url=url,
            api_key="none",
            responses_api=False,
            config=GenerateConfig(cache=True, max_connections=IN_FLIGHT, max_tokens=2000),
        )
        scorer = model_graded_qa(model=model)
        asyncio.run(_grade(scorer, cases(IN_FLIGHT // 4)))  # connections, imports
        cold = asyncio.run(_grade(scorer, given))
        warm = min(asyncio.run(_grade(scorer, given)) for _ in range(3))
    return cold, warm


async def _grade(scorer: Scorer, given: Sequence[JudgeCase]) -> float:
    waiting = iter(enumerate(given))

    async def worker() -> None:
        for number, case in waiting:
            context = "\n\n".join(f"{message.role}: {message.text}" for message in case.context)
            question = f"{context}\n\n{case.probe.question}"
            state = TaskState(
                model=ModelName(MODEL),
                sample_id=number,
                epoch=1,
                input=question,
                messages=[ChatMessageUser(content=question)],
                output=ModelOutput.from_content(MODEL, case.answer),
            )
            score = await scorer(state, Target(case.probe.ground_truth))
            assert score is not None
            assert score.value == CORRECT

    start = time.process_time()
    await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))
    return time.process_time() - start
