"""Training: a small transformer learns while one watches every head."""

from __future__ import annotations

from tfmviz.ui import training_page

training_page.draw(training_page.prepare())
training_page.theory()
