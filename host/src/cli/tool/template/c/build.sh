#!/bin/sh
# Makes {{name}}.wasm. Once before, on Debian 12:
#   apt-get install clang-14 lld-14 wasi-libc libclang-rt-14-dev-wasm32
#   cargo install wit-bindgen-cli@0.63.0 --no-default-features --features c
set -eu
cd "$(dirname "$0")"
wit-bindgen c wit --world mine
"${CC:-clang-14}" --target=wasm32-wasi --sysroot="${SYSROOT:-/usr}" -mexec-model=reactor -O2 \
    tool.c mine.c mine_component_type.o -o module.wasm
cofferdam tool adapt module.wasm {{name}}.wasm
