#!/usr/bin/env bash
# A llama-server for the tests: Debian's packages, unpacked into a folder. Nothing is installed, no state of the system changes.
# usage: get_llama_server.sh FOLDER
set -euo pipefail
folder=$(mkdir -p "${1:?folder}" && cd "$1" && pwd)
packages="llama.cpp-tools libllama0 libggml0 libc6 libgcc-s1 libstdc++6 libgomp1 libssl3t64 libzstd1 zlib1g"
command -v apt-get dpkg-deb >/dev/null || { echo "get_llama_server.sh: needs apt-get and dpkg-deb; set COGBIAS_LLAMA_SERVER to a llama-server of yours" >&2; exit 1; }

# the machine's own mirror, with the suite that has llama.cpp
source=$(sed -n 's/^\(URIs: \|deb \)\(http[^ ]*\|file:[^ ]*\).*/deb \2 sid main/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -v security | head -1 || true)
mkdir -p "$folder"/{lists/partial,cache/archives/partial,debs,root}
: > "$folder/status"
echo "${source:-deb https://deb.debian.org/debian sid main}" > "$folder/sid.list"
options=(-o "Dir::Etc::sourcelist=$folder/sid.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$folder/lists" -o "Dir::Cache=$folder/cache"
         -o "Dir::State::status=$folder/status" -o APT::Sandbox::User=root)
apt-get "${options[@]}" update -qq
(cd "$folder/debs" && apt-get "${options[@]}" download -qq $packages)
for package in "$folder"/debs/*.deb; do dpkg-deb -x "$package" "$folder/root"; done
(cd "$folder/debs" && sha256sum ./*.deb > ../SHA256SUMS)

# its own loader and C library, because this machine's may be older; and one CPU backend by name, because the compiled-in path does not exist here
cat > "$folder/llama-server" <<'WRAPPER'
#!/usr/bin/env bash
root=$(dirname "$(readlink -f "$0")")/root
libraries=$root/usr/lib/$(uname -m)-linux-gnu
cpu=x64
grep -qw avx2 /proc/cpuinfo && cpu=haswell
export GGML_BACKEND_PATH=${GGML_BACKEND_PATH:-$libraries/ggml/backends0/libggml-cpu-$cpu.so}
exec "$libraries"/ld-linux-x86-64.so.2 --library-path "$libraries:$libraries/llama:$libraries/ggml/backends0" "$root/usr/bin/llama-server" "$@"
WRAPPER
chmod +x "$folder/llama-server"
"$folder/llama-server" --version 2>&1 | head -2
