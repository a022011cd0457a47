# Everything happens in a virtual environment of its own: Python ≥ 3.11, make and, for the native
# engine, a C++ compiler are all that is needed.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: help setup page types wheel docs links demo test check napari slow bench stubs symbols sanitize licences nightly reproduce evaluate quality clean
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
$(PAGE): $(wildcard web/*.json web/*.ts web/*.html web/src/*.ts web/src/*/* web/public/*)
	@if command -v npm > /dev/null; then cd web && npm install --no-save --silent --no-audit --no-fund && npm run --silent build; \
	else echo "No Node.js: the page of varfocus app is not built."; fi

types: $(STAMP)  ## What server and page say to each other, as TypeScript: web/src/wire.ts
	$(BIN)/python web/wire.py > web/src/wire.ts

wheel: page $(STAMP) ## Build source archive and wheel, and try them where there is no compiler and no Node.js
	@test -f $(PAGE) || { echo "The page is not built: a wheel without it is not made."; exit 1; }
	$(BIN)/python -m pip install --quiet build
	rm -rf dist build/clean
	$(BIN)/python -m build --outdir dist .
	$(PYTHON) -m venv build/clean
	build/clean/bin/python -m pip install --quiet "$$(ls dist/*.whl)[app]"
	env -i PATH=/nowhere HOME="$$(mktemp -d)" build/clean/bin/python tests/installed.py

# MathJax, so that formulas show without a network; without npm the pages fetch it when they are read.
MATHJAX := build/mathjax/node_modules/mathjax/es5/tex-svg-full.js
$(MATHJAX):
	-npm install --prefix build/mathjax --no-save --silent --no-audit --no-fund mathjax@3.2.2
SPHINX = $(BIN)/python -m sphinx --fail-on-warning --keep-going --jobs auto
docs: $(STAMP) $(MATHJAX) ## The documentation, with its examples run: build/docs/index.html
	$(BIN)/python -m pip install --quiet 'varfocus[docs]'
	$(SPHINX) -b html docs build/docs
	@echo "Look at build/docs/index.html"

links: docs      ## Follow the documentation's links to other sites; needs the network
	$(SPHINX) -b linkcheck docs build/links

demo: $(STAMP)   ## Simulate a scene, reconstruct it, and see how well that went
	$(BIN)/varfocus demo --output demo --overwrite

# In the order of their names: by the number of tests in a file, the longest would come last, and alone.
test: check page ## Check style, types and layers, then run the tests
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

check: $(STAMP)  ## ruff, mypy, import-linter; tsc, eslint, prettier once the page was built
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@if [ -d web/node_modules/eslint ]; then cd web && npm run --silent check; else echo "The page is not built (make page): its code was NOT checked."; fi

# napari draws with OpenGL: without a screen, Xvfb is where it does (Debian: xvfb libegl1 libgl1-mesa-dri).
NAPARI ?= .venv-napari
SCREEN := $(shell command -v xvfb-run > /dev/null && echo xvfb-run --auto-servernum)
napari:          ## The tests of the napari plugin, in an environment of its own
	test -x $(NAPARI)/bin/python || $(PYTHON) -m venv $(NAPARI)
	$(NAPARI)/bin/python -m pip install --quiet --editable '.[napari]' 'napari[pyqt6]' pytest pytest-qt hypothesis
	QT_QPA_PLATFORM=offscreen $(SCREEN) $(NAPARI)/bin/python -m pytest --override-ini filterwarnings=default \
		--disable-warnings tests/napari_plugin

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

nightly: $(STAMP) ## What trust rests on: 10 000 mutated files, 5000 random cases, 50 kills, 500 runs, sanitizers, licences
	-$(BIN)/python -m pip install --quiet atheris
	$(BIN)/python tests/fuzzing.py --cases 10000
	$(BIN)/python tests/fuzz_api.py --cases 5000
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
	rm -rf $(VENV) $(NAPARI) demo reproduction evaluation build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
