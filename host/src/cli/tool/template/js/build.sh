#!/bin/sh
# Makes {{name}}.wasm. Once before: npm install
# What package.json overrides is never run here; with it 385 MB would be installed instead of 95.
set -eu
cd "$(dirname "$0")"
node build.mjs
