"""What builds and judges the notebooks: `python -m tools.notebooks`, `python -m tools.lint`, and two pytest plugins."""
