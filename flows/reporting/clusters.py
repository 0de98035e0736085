"""The unit by which intervals are clustered, in words."""

from __future__ import annotations

import duckdb


def describe_clusters(connection: duckdb.DuckDBPyConnection) -> str:
    """``clustered by session``, or ``clustered by project, 12 of them`` where there are ten or more."""
    [(n_projects, n_alone)] = connection.execute(_PROJECTS).fetchall()
    if not n_projects:
        return "clustered by session"
    alone = f" (sessions without one by themselves: {n_alone:,})" if n_alone else ""
    return f"clustered by project, {n_projects:,} of them{alone}"


_PROJECTS = """
SELECT count(DISTINCT sessions.project), count(*) FILTER (sessions.project IS NULL)
FROM sessions JOIN stg_clusters USING (session_id)
WHERE cluster_unit = 'project' AND session_id IN (SELECT session_id FROM points)
"""
