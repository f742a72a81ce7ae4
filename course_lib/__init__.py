"""How deep networks are really trained: the library behind the notebooks.

Nothing heavy is imported here. Read the layers from the bottom up: `autograd`, `optim`, `data`, `models`, `train`; then
`checks` and `compare`; then `experiments`, `plots` and `widgets`.
"""

__version__ = "0.1.0"
