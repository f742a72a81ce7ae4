"""What builds and judges the notebooks: `tools.notebooks`, `tools.lint`, `tools.thorough`, and pytest plugins."""
