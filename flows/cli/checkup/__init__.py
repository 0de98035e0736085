"""Checks before a night for anything that would stop it: nothing is changed, no model is called.

``installation`` looks at what is installed and reachable, ``store`` at the files and at what past runs left,
``tonight`` at a study, ``orchestration`` at Prefect. Each check is a function that gives findings;
``flows.cli.doctor`` prints them.
"""
