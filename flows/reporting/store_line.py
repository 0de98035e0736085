"""The line that names the store of a result."""

from __future__ import annotations

from flows.database.scores_db import connect
from flows.store.store import Store
from flows.support.sample_sessions import sample_folder


def name_store(store: Store) -> str:
    """``Store: NAME``, and that it has nothing but the sample sessions where that is so.

    A store without results yet is named only.
    """
    if not store.database.exists():
        return f"Store: {store.name}"
    with connect(store.database) as connection:
        (are_samples,) = connection.execute(
            "SELECT coalesce(bool_and(starts_with(input_path, $folder)), false) FROM sessions",
            {"folder": sample_folder()},
        ).fetchall()[0]
    return f"Store: {store.name}{' (the sample sessions of the package)' if are_samples else ''}"
