#!/bin/sh
# Makes {{name}}.wasm. Once before: python3 -m venv venv && venv/bin/pip install componentize-py==0.25.1
set -eu
cd "$(dirname "$0")"
venv/bin/componentize-py -d wit -w mine componentize app -o {{name}}.wasm
