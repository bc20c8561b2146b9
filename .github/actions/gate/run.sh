#!/usr/bin/env bash
# `dpregret gate` on a study in another repository; docs/your_study.md explains it. The inputs of the action reach this
# script in the environment. Exit code 0: all is as in the reference; 1: a step found something; 2: it could not be judged,
# the study is wrong, or there is no reference yet. A code is believed where the last line of the output says the same.
set -euo pipefail

study=${GATE_STUDY:-}
python=${GATE_PYTHON:-} # an environment that is there already
[ -d "$study" ] || { printf "gate: study: no folder '%s'\n" "$study" >&2; exit 2; }
[[ ${GATE_CORES:=2} =~ ^[1-9][0-9]{0,2}$ ]] || { printf "gate: cores: '%s' is not a number\n" "$GATE_CORES" >&2; exit 2; }
[[ ${GATE_AUDIT:=true} =~ ^(true|false)$ ]] || { printf "gate: audit: '%s' is neither true nor false\n" "$GATE_AUDIT" >&2; exit 2; }
study=$(cd -- "$study" && pwd)
words=(gate "$study/." --cores "$GATE_CORES")
[ -z "${GATE_PROFILE:-}" ] || words+=(--profile "$GATE_PROFILE")
[ "$GATE_AUDIT" = true ] || words+=(--no-audit)
if [ -z "$python" ]; then
  tree=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../.." && pwd)
  make -C "$tree" setup GROUP=run >&2
  python=$tree/.venv/bin/python
fi

export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONSAFEPATH=1 LOGNAME="${LOGNAME:-$(id -un 2>/dev/null || id -u)}"
mkdir -p "$study/results"
code=0
"$python" -m dpregret "${words[@]}" >"$study/results/gate.txt" || code=$?
case "$code:$(tail -n 1 "$study/results/gate.txt")" in
  "0:gate: passed" | "1:gate: something was found" | 2:*) ;;
  *)
    echo "gate: could not be judged: the command ended with exit code $code before its last line" | tee -a "$study/results/gate.txt" >&2
    code=2
    ;;
esac
cat "$study/results/gate.txt"
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
  { echo; sed 's/^/    /' "$study/results/gate.txt"; echo; } >>"$GITHUB_STEP_SUMMARY" # indented: no line ends this code
fi
exit "$code"
