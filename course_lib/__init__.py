"""How deep networks are really trained: the library behind the notebooks.

Nothing heavy is imported here. Read the layers from the bottom up: `autograd`, `optim`, `schedules`, `data`, `models`,
`train`; then the instruments `results`, `trials` and `grading`; then `lectures`, a folder each, and `widgets`.
"""

__version__ = "0.1.0"
