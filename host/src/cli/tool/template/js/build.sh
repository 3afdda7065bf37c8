#!/bin/sh
# Makes {{name}}.wasm. Once before: npm install
set -eu
cd "$(dirname "$0")"
node build.mjs
