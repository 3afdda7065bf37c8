#!/bin/sh
# Installs cofferdam: takes the tarball of this machine and SHA256SUMS from a folder or a URL, and installs nothing
# whose checksum differs.
#
#   install.sh [--from FOLDER-OR-URL] [--prefix PREFIX]
#
# FROM is the folder of this script if not said otherwise, PREFIX is /usr/local: the program becomes PREFIX/bin/cofferdam.
set -eu

refuse() {
    echo "install.sh: $1" >&2
    exit 1
}

from=$(dirname -- "$0")
prefix=/usr/local
while [ $# -gt 0 ]; do
    case $1 in
        --from | --prefix) [ $# -ge 2 ] || refuse "$1 needs a value" ;;
        *) refuse "unknown option $1; usage: install.sh [--from FOLDER-OR-URL] [--prefix PREFIX]" ;;
    esac
    case $1 in
        --from) from=$2 ;;
        --prefix) prefix=$2 ;;
    esac
    shift 2
done

[ "$(uname -s)" = Linux ] || refuse "cofferdam runs on Linux"
case $(uname -m) in
    x86_64 | amd64) arch=x86_64 ;;
    aarch64 | arm64) arch=aarch64 ;;
    *) refuse "there is no build for $(uname -m)" ;;
esac

work=$(mktemp -d)
new=
trap 'rm -rf -- "$work" ${new:+"$new"}' EXIT
trap 'exit 1' HUP INT TERM

# Copies a file of the release into the working folder.
take() {
    case $from in
        https://*) curl --proto '=https' --fail --silent --show-error --location --output "$work/$1" -- "$from/$1" ;;
        *://*) refuse "only https:// is fetched" ;;
        *) cp -- "$from/$1" "$work/$1" ;;
    esac || refuse "cannot get $1 from $from"
}

take SHA256SUMS
# One line: the checksum, two spaces, the name.
line=$(grep -E "^[0-9a-f]{64}  cofferdam-[0-9][^/ ]*-$arch-linux-musl\.tar\.gz\$" "$work/SHA256SUMS" |
    grep -v '\.debug\.tar\.gz$') || refuse "SHA256SUMS names no tarball for $arch"
[ "$(printf '%s\n' "$line" | wc -l)" -eq 1 ] || refuse "SHA256SUMS names several tarballs for $arch"
tarball=${line#*  }

take "$tarball"
actual=$(sha256sum <"$work/$tarball")
[ "${actual%% *}" = "${line%% *}" ] || refuse "the checksum of $tarball differs; nothing was installed"

tar -xzf "$work/$tarball" -C "$work"
mkdir -p -- "$prefix/bin"
# Beside its place first: a program that runs is replaced in one step. Under a name that nobody else has: another
# install.sh may be at work.
new=$(mktemp -- "$prefix/bin/.cofferdam-XXXXXX")
cp -- "$work/${tarball%.tar.gz}/cofferdam" "$new"
chmod 755 -- "$new"
mv -f -- "$new" "$prefix/bin/cofferdam"
echo "installed $prefix/bin/cofferdam"
