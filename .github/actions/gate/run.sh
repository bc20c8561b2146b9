#!/usr/bin/env bash
# Plays algorithms that lie outside of this project, and holds what comes out against the reference that was kept of it.
# What is asked for stands in the environment; docs/your_ci.md explains it. Exit code 0: all is as in the reference;
# 1: something left it, or failed; 2: a wrong input, or no reference yet.
set -euo pipefail

refuse() {
  printf 'gate: %s\n' "$1" >&2
  exit 2
}

source_tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
family=${DPREGRET_FAMILY:-online}
paper_folder=${DPREGRET_PAPER:-}
reference=${DPREGRET_REFERENCE:-}
profile=${DPREGRET_PROFILE:-}
cores=${DPREGRET_CORES:-2}
audit=${DPREGRET_AUDIT:-true}
output=${DPREGRET_OUTPUT:-dpregret-gate}

paper=$(basename -- "$paper_folder")
[ -f "$paper_folder/experiments.yaml" ] && [ -f "$paper_folder/claims.yaml" ] ||
  refuse "paper: no experiments.yaml and claims.yaml in '$paper_folder'"
[[ $paper =~ ^[a-z][a-z0-9_]*$ ]] || refuse "paper: '$paper' is no name of small letters, digits and _"
[ ! -e "$source_tree/workflows/papers/$paper" ] || refuse "paper: there is a paper '$paper' already"
[[ $family =~ ^[a-z]+$ ]] && [ -f "$source_tree/workflows/families/$family.py" ] && [ -d "$source_tree/algorithms/$family" ] ||
  refuse "family: '$family' is none of online, experts, bandits, erm"
[[ $cores =~ ^[1-9][0-9]{0,2}$ ]] || refuse "cores: '$cores' is no number"
[[ $audit =~ ^(true|false)$ ]] || refuse "audit: '$audit' is neither true nor false"
[ -z "$profile" ] || [ -f "$profile" ] || refuse "profile: no file '$profile'"
files=() names=()
while IFS= read -r file; do
  file=$(sed 's/^[[:space:]]*//; s/[[:space:]]*$//' <<<"$file")
  [ -n "$file" ] || continue
  [ -f "$file" ] || refuse "algorithm: no file '$file'"
  [[ $(basename -- "$file") =~ ^[a-z][a-z0-9_]*\.py$ ]] || refuse "algorithm: '$file' has no name that can be imported"
  [ ! -e "$source_tree/algorithms/$family/$(basename -- "$file")" ] ||
    refuse "algorithm: there is a file algorithms/$family/$(basename -- "$file") already"
  files+=("$file")
  names+=("$(basename -- "$file")")
done <<<"${DPREGRET_ALGORITHM:-}"
[ ${#files[@]} -gt 0 ] || refuse "algorithm: name at least one Python file"

# a copy: neither this tree nor yours is written to
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -C "$source_tree" -c --exclude=./.git --exclude=./.venv --exclude=./.snakemake --exclude=./.cache --exclude=./build \
  --exclude=./dpregret/datasets/cache --exclude=./results --exclude=__pycache__ . | tar -C "$work" -x
mkdir "$work/results"
cp -R "$source_tree/results/reference" "$work/results"
cp -- "${files[@]}" "$work/algorithms/$family/"
cp -R -- "$paper_folder" "$work/workflows/papers/$paper"
if [ -n "$profile" ]; then
  cp -- "$profile" "$work/gate.yaml"
else
  printf 'profile: gate\nextends: full\nonly: [%s]\naudit: null\nvalidation: null\n' "$paper" >"$work/gate.yaml"
fi
name=$(sed -n 's/^profile:[[:space:]]*\([a-z0-9_-]*\)[[:space:]]*$/\1/p' "$work/gate.yaml")
[[ $name =~ ^[a-z0-9_-]+$ && $name != full ]] || refuse "profile: '$profile' has no line 'profile: NAME' of its own"
if [ -d "$reference" ]; then
  reference=$(cd "$reference" && pwd)
else
  reference=
fi
python=${DPREGRET_PYTHON:-}
[[ $python != */* || $python == /* ]] || python="$PWD/$python"
mkdir -p "$output"
output=$(cd "$output" && pwd)

cd "$work"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONSAFEPATH=1 LOGNAME="${LOGNAME:-$(id -un 2>/dev/null || id -u)}"
if [ -n "$python" ]; then # an environment that is there already
  export PYTHONPATH="$work"
else
  unset PYTHONPATH
  make setup >&2
  python="$work/.venv/bin/python"
fi

played=0
"$python" -m snakemake --cores "$cores" --nocolor --config profile=gate.yaml || played=$?
results="results/$name"
[ -f "$results/$paper/jobs.csv" ] || exit 1 # what went wrong has been told

mkdir -p "$output/reference"
cp "$results/$paper"/{claims,checks,jobs}.csv "$output/reference"
cp "$results/$paper"/table_*.md "$output"
[ ! -f "$results/report.html" ] || cp "$results/report.html" "$output"
[ "$played" -ne 0 ] || "$python" -m dpregret.workflows.run.archive "$results" "$output/run.tar.gz" >&2

code=0
if [ -n "$reference" ]; then
  "$python" -m dpregret.paper_figs.compare.gate "$results/$paper" "$reference" >gate.txt 2>&1 || code=$?
  [ "$code" -ne 1 ] || echo "if it is meant: commit the files of 'reference' in the results in place of yours" >>gate.txt
else
  echo "gate: no reference yet: look at the report, and commit the files of 'reference' in the results" >gate.txt
  code=2
fi
unproved=0
if [ "$audit" = true ]; then
  "$python" -m dpregret.workflows.audit.own "${names[@]}" >>gate.txt 2>&1 || unproved=1
fi
cp gate.txt "$output"
cat gate.txt
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
  { echo '```'; cat gate.txt; echo '```'; echo; cat "$output/table_1.md"; } >>"$GITHUB_STEP_SUMMARY"
fi
[ "$code" -ne 0 ] || { [ "$played" -eq 0 ] && [ "$unproved" -eq 0 ]; } || code=1
exit "$code"
