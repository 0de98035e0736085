-- Margin of equivalence: points of a score (0 to 5) by which a method may differ and still count as good as another.
create macro margin() as 0.2;
