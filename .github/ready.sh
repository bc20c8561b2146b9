#!/usr/bin/env bash
# May this tag be released? One line and exit code 1 where not.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=${1#v}
stop() {
  printf 'release %s stopped: %s\n' "$version" "$1" >&2
  exit 1
}
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || stop "a tag is v1.2.3"
if open=$(grep -n -m 1 '^- \[ \]' RELEASING.md); then stop "RELEASING.md:$open"; fi
grep -q "^## $version " CHANGELOG.md || stop "CHANGELOG.md: no section '## $version DATE'"
