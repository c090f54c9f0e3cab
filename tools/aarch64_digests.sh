#!/usr/bin/env bash
# Fly iris, octa and hex on an emulated aarch64 machine and compare their digests with the golden ones.
#
# Needs root and Debian: it installs qemu-user-static and mmdebstrap, unpacks a Debian arm64 userland into
# .cache/aarch64 and installs the aarch64 wheels of all dependencies there. Takes about 10 minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
home=$PWD/.cache/aarch64
if ! command -v qemu-aarch64-static >/dev/null || ! command -v mmdebstrap >/dev/null; then
    apt-get update -q && apt-get install -qy qemu-user-static mmdebstrap
fi
mkdir -p "$home"
if [ ! -e "$home/ready" ]; then
    rm -rf "$home/root" "$home/site"
    mmdebstrap --quiet --variant=extract --architectures=arm64 --include=python3,libstdc++6,libgomp1 bookworm "$home/root"
    python3 - <<'PYTHON' > "$home/requirements.txt"
import tomllib
print("\n".join(tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"]))
PYTHON
    python3 -m pip install --quiet --target "$home/site" --python-version 311 --only-binary=:all: \
        --platform manylinux_2_28_aarch64 --platform manylinux_2_17_aarch64 --platform manylinux2014_aarch64 \
        --requirement "$home/requirements.txt"
    touch "$home/ready"
fi
# Without binfmt_misc, a started child can't run: PX4LOCKSTEP compiles in one process then.
QEMU_LD_PREFIX=$home/root PYTHONPATH=$PWD/src:$home/site PX4LOCKSTEP_CACHE_DIR=$home/cache NUMBA_CPU_NAME=generic \
    qemu-aarch64-static "$home/root/usr/bin/python3.11" tools/check_digests.py iris octa hex
