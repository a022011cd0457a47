# Everything happens in a virtual environment of its own: Python ≥ 3.11, make and, for the native
# engine, a C++ compiler are all that is needed.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: help setup page demo test check slow bench stubs symbols sanitize licences nightly reproduce evaluate quality clean
help:            ## Show this list
	@grep -E '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

setup: $(STAMP)  ## Make the virtual environment
$(STAMP): pyproject.toml CMakeLists.txt $(wildcard src/varfocus/engine/cpp/*.?pp src/varfocus/engine/cpp/kernels/*.?pp)
	$(PYTHON) -c 'import sys; sys.exit("varfocus needs Python 3.11 or newer, found " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

PAGE := src/varfocus/app/static/index.html
page: $(PAGE)    ## Build the page of `varfocus app`; needs Node.js
$(PAGE): $(wildcard web/*.json web/*.ts web/*.html web/src/* web/public/*)
	@if command -v npm > /dev/null; then cd web && npm install --no-save --silent --no-audit --no-fund && npm run --silent build; \
	else echo "No Node.js: the page of varfocus app is not built."; fi

demo: $(STAMP)   ## Simulate a scene, reconstruct it, and see how well that went
	$(BIN)/varfocus demo --output demo --overwrite

test: check page ## Check style, types and layers, then run the tests
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

check: $(STAMP)  ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

slow: $(STAMP)   ## The long studies
	$(BIN)/python -m pytest -m slow

bench: $(STAMP)  ## Time the engine against plain NumPy, side by side
	$(BIN)/python benchmarks/bench.py
	$(BIN)/python benchmarks/files.py

stubs: $(STAMP)  ## Describe the compiled kernels for type checkers: engine/_kernels.pyi
	$(BIN)/python -m nanobind.stubgen -q -m varfocus.engine._kernels -o src/varfocus/engine/_kernels.pyi

symbols: $(STAMP) ## Compile the kernels with all warnings, and check that no instruction set leaks into another
	cmake -S . -B build/strict -DVARFOCUS_STRICT=ON -DVARFOCUS_TEST_WIDTHS=ON -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python" > /dev/null
	cmake --build build/strict --parallel 2

sanitize: $(STAMP) ## The kernels' tests under AddressSanitizer and UBSan, with every instruction set
	PATH="$(CURDIR)/$(BIN):$$PATH" tests/engine/run_sanitized.sh

licences: $(STAMP) ## Licences of all dependencies, and known vulnerabilities where the network allows
	-$(BIN)/python -m pip install --quiet pip-audit
	$(BIN)/python tests/licences.py

nightly: $(STAMP) ## What trust rests on: 10 000 mutated files, 50 kills, 500 runs, sanitizers, licences
	-$(BIN)/python -m pip install --quiet atheris
	$(BIN)/python tests/fuzzing.py --cases 10000
	$(BIN)/python tests/fuzz_probing.py --seconds 600
	$(BIN)/python -m pytest -m slow tests/trust
	$(MAKE) symbols sanitize licences

reproduce: $(STAMP) ## Repeat every experiment of the paper
	$(BIN)/varfocus reproduce all --output reproduction --overwrite

evaluate: $(STAMP) ## Measure every method where the depth is known
	$(BIN)/varfocus evaluate --output evaluation --overwrite

quality: $(STAMP) ## Record the accuracy that the tests hold every method to
	$(BIN)/python tests/record_quality.py

clean:           ## Remove everything that was made
	rm -rf $(VENV) demo reproduction evaluation build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
