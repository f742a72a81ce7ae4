"""Numbers that count the arithmetic done with them: what a way to differentiate costs, without a clock."""

from typing import Any


class Tally:
    """How many operations so far: additions, subtractions, multiplications, divisions and powers, one each."""

    def __init__(self) -> None:
        self.operations = 0


class Counted(float):
    """A float whose arithmetic adds one to `tally.operations` and gives a Counted again.

    >>> tally = Tally()
    >>> x = Counted(3.0, tally)
    >>> x * x + 1.0, tally.operations
    (10.0, 2)
    """

    tally: Tally

    def __new__(cls, value: float, tally: Tally) -> "Counted":
        number = super().__new__(cls, value)
        number.tally = tally
        return number


def _counting(name: str) -> Any:
    plain = getattr(float, name)

    def operation(self: Counted, *others: float) -> Counted:
        self.tally.operations += 1
        return Counted(plain(self, *map(float, others)), self.tally)

    return operation


for _name in ("add", "sub", "mul", "truediv", "pow"):
    setattr(Counted, f"__{_name}__", _counting(f"__{_name}__"))
    setattr(Counted, f"__r{_name}__", _counting(f"__r{_name}__"))
Counted.__neg__ = _counting("__neg__")  # type: ignore[method-assign]
