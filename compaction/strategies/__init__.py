"""The project's own strategies, one file (or folder) a family; importing this package registers them.

Read ``controls`` first: it shows all that a strategy needs. Strategies that follow another system have its id, name the
version that was read, and keep its defaults; where it marks its text with a fixed string, that string is the same.
docs/strategies.md has them in one table, with the differences from the originals.
"""

from importlib import import_module
from pkgutil import iter_modules

for _found in iter_modules(__path__):
    import_module(f"{__name__}.{_found.name}")
