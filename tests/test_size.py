"""The project does not grow unless somebody says so."""

from tests.size import count_sizes, read_limits


def test_nothing_counted_is_larger_than_its_limit() -> None:
    counts, limits = count_sizes(), read_limits()
    assert counts.keys() == limits.keys()
    larger = {name: f"{count} > {limits[name]}" for name, count in counts.items() if count > limits[name]}
    assert larger == {}, "take as much away, or say in the commit what comes to it: python -m tests.size --pin"
