"""The page of a store: one HTML file that shows each method's retention, its cost, and the certainty of both.

In the order in which a page comes about: ``figures`` asks the queries of ``sql/queries/report``; ``choice`` says which
points are shown in full; ``detail`` reads their messages, contexts, answers and reasons; ``charts`` has the charts as
Vega-Lite specifications and ``library`` the code that draws them; ``words`` is what the page says, in English and
Chinese; ``page`` puts everything into one file with a content-security policy. ``visible`` makes text of others
harmless to look at; ``assets`` has the template, the style and the scripts.

Nothing is computed in the page that the views compute: its script sorts, filters and shows.
"""

from __future__ import annotations

from flows.reporting.html.page import ReportFile, write_report

__all__ = ["ReportFile", "write_report"]
