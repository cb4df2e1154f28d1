# The two commands of the README: `make demo` and `make test`. Each builds its own environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PINS := $(shell $(PYTHON) -c "import sys; print('-c constraints.txt' if sys.version_info[:2] == (3, 11) else '')")
STAMP := settings.ini setup.py constraints.txt
# pip compiles one file after another; this does the same on two cores, and passes by what is no Python.
# A third is left to whoever imports it: the tests of others, and the models of transformers, of which few are used
COMPILE := $(BIN)/python -m compileall -qq -j 2 -x '/tests?/|/transformers/models/' $(VENV)/lib || true
# processes of tests at a time: one more than cores, since many tests wait for a server or a kernel
WORKERS ?= 3
# the server that is named, or that of `make llama`
LLAMA = $${COGBIAS_LLAMA_SERVER-$(wildcard $(CURDIR)/.llama/llama-server)}

# hundreds of processes of the tests import the library: it is compiled once, whatever the shell says
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test try slow budget outputs llama tools calibration sizes benchmark-studies benchmark-servers site docs lab clean
.DELETE_ON_ERROR:

$(BIN)/python:
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'cogbias needs Python 3.11 or newer; call make PYTHON=python3.11 ...')"
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(STAMP) | $(BIN)/python
	$(BIN)/python -m pip install --no-compile --quiet --disable-pip-version-check $(PINS) -e .
	@$(COMPILE)
	@touch $@

$(VENV)/.dev: $(STAMP) | $(BIN)/python
	$(BIN)/python -m pip install --no-compile --quiet --disable-pip-version-check $(PINS) -e ".[docs,dev,hf,openai,ollama]"
	@$(COMPILE)
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo  ## published answers of real models, a slice of every suite simulated: reports, effects, site
	$(BIN)/cogbias import pagliaro data/published/pagliaro.parquet --out outputs/demo --where arm=baseline --paradigm published/pagliaro_decoy
	$(BIN)/cogbias import bais data/published/bais.parquet --out outputs/demo --where arm=none --paradigm published/bais_vignettes
	$(BIN)/cogbias import anchoring-llms data/published/anchoring_llms.parquet --out outputs/demo --where anchors=published
	$(BIN)/cogbias run demo --outputs outputs/demo --jobs 2 --no-reports
	$(BIN)/cogbias report outputs/demo --jobs 2
	$(BIN)/cogbias site outputs/demo
	@echo
	@echo "one report   outputs/demo/reports/sim-human/choice-certainty.ipynb"
	@echo "all effects  outputs/demo/effects.csv"
	@echo "open         outputs/demo/site/index.html"
	@echo "continue     source $(BIN)/activate   (then the command is: cogbias --help)"

test: $(VENV)/.dev  ## notebooks are clean and exported, then every test
	$(BIN)/python tests/in_step.py
	COGBIAS_LLAMA_SERVER="$(LLAMA)" $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

try: $(VENV)/.dev  ## one notebook and the tests of its paradigm: make try NB=nbs/paradigms/classic/framing.ipynb
	$(BIN)/python tests/try_one.py $(NB)

budget: $(VENV)/.dev  ## how heavy each room of the library is; fails above the budget in docs/mass.py
	$(BIN)/python docs/mass.py

outputs: $(VENV)/.dev  ## store what notebooks give: make outputs NB=framing, or several names
	$(BIN)/python tests/stored_outputs.py $(NB)

# slow tests compute, and some measure time: no more of them than cores
slow: WORKERS = 2
slow: $(VENV)/.dev  ## tests that take minutes: whole studies, archives, sites, encoders, benchmarks; BUT="name or name" leaves some out
	COGBIAS_LLAMA_SERVER="$(LLAMA)" $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m slow $(if $(BUT),-k "not ($(BUT))")

llama: .llama/llama-server  ## a llama-server for the tests, unpacked from Debian packages; nothing is installed

.llama/llama-server:
	bash .ci/get_llama_server.sh .llama

tools: $(VENV)/.dev  ## inspect_ai and lm-eval in .tools (1 GB), for the slow tests of tests/test_other_tools.py
	$(PYTHON) -m venv .tools
	.tools/bin/pip install --quiet --no-compile --disable-pip-version-check ".[hf,inspect]" "lm-eval==0.4.13"

calibration: $(VENV)/.dev  ## nbs/benchmarks/calibration and the table that it stores, made again
	CALIBRATION=$(CURDIR)/data/calibration.json $(BIN)/jupyter nbconvert --to notebook --execute --inplace nbs/benchmarks/calibration.ipynb
	$(BIN)/nbdev_clean

sizes: $(VENV)/.dev  ## the stored sizes of all paradigms, counted again
	$(BIN)/python docs/sizes.py

benchmark-studies: $(VENV)/.dev  ## the stored table of nbs/benchmarks/studies, made again: about ten minutes on two quiet cores
	MEASURE=1 $(BIN)/jupyter nbconvert --to notebook --execute --inplace nbs/benchmarks/studies.ipynb
	$(BIN)/nbdev_clean

benchmark-servers: $(VENV)/.dev .llama/llama-server  ## nbs/benchmarks/servers, executed again: some minutes on two quiet cores
	COGBIAS_LLAMA_SERVER=$(CURDIR)/.llama/llama-server $(BIN)/jupyter nbconvert --to notebook --execute --inplace nbs/benchmarks/servers.ipynb
	$(BIN)/nbdev_clean

lab: $(VENV)/.dev  ## JupyterLab on the notebooks
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PINS) -e ".[notebook]"
	$(BIN)/jupyter lab nbs

site: demo

docs: $(VENV)/.dev  ## the pages of the library, in _docs
	$(BIN)/python docs/library.py _docs

clean:
	rm -rf $(VENV) .llama outputs/demo _docs build *.egg-info
