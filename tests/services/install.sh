#!/bin/sh
# Install the real services that tests start, where this is possible and they are missing.
set -u
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
