from __future__ import annotations

import pytest

from colpick.cli import main

PEOPLE = "id,name,city,age\n1,Ada,Bern,36\n2,Bo,Basel,\n3,Cy,Chur,41\n4,Di,Bern,29\n"


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE)
    return str(path)


@pytest.fixture
def colpick(capfdbinary):
    def call(*argv):
        code = main([str(item) for item in argv])
        captured = capfdbinary.readouterr()
        return code, captured.out, captured.err

    return call
