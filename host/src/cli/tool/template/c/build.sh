#!/bin/sh
# Makes {{name}}.wasm. Once before:
#   python3 -m venv venv && venv/bin/pip install ziglang==0.13.0
#   cargo install wit-bindgen-cli@0.63.0 --locked --no-default-features --features c
set -eu
cd "$(dirname "$0")"
wit-bindgen c wit --world mine
venv/bin/python -m ziglang cc -target wasm32-wasi -mexec-model=reactor -O2 \
    tool.c mine.c mine_component_type.o -o module.wasm
cofferdam tool adapt module.wasm {{name}}.wasm
