#!/bin/sh
# Build a real Kubernetes control plane and hollow nodes from Debian's source package, once, outside the repository.
# No registry has these programs; the source package is complete and needs nothing but Debian's Go. On two quiet cores
# this takes about ten minutes and 3 GB, of which 450 MB stay. It needs root and apt. The argument is the folder.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
[ -e "$folder/ready" ] && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "Kubernetes cannot be built without root and apt" >&2
    exit 1
fi
version=1.20.5+really1.20.2
package=kubernetes_$version-1.1+deb12u1.dsc
work=$folder/build
mkdir -p "$work/lists/partial" "$work/home" "$folder/bin"
cd "$work"

export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends ca-certificates dpkg-dev etcd-server golang-go \
    golang-github-modern-go-reflect2-dev jq make rsync >/dev/null

# The list of sources is our own: the settings of the machine are not changed, but it uses the same mirror.
if [ ! -s "$package" ]; then
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Codename: bookworm' | head -n 1)
    if [ -z "$mirror" ]; then
        echo "apt has no mirror of Debian bookworm, whose source package is built" >&2
        exit 1
    fi
    printf 'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s bookworm main\n' "$mirror" >sources.list
    own="-o Dir::Etc::SourceList=$work/sources.list -o Dir::Etc::SourceParts=- -o Dir::State::Lists=$work/lists"
    apt-get $own -o APT::Sandbox::User=root -qq update
    apt-get $own -o APT::Sandbox::User=root -qq source --download-only kubernetes
fi
echo "b83c0780efb182d928dc63d46488a847f161f04e40a94b96bf5247dd671ecdfc  kubernetes_$version.orig.tar.gz" | sha256sum -c -
[ -d src ] || dpkg-source --no-check -x "$package" src

# The reflect2 of the package crashes with Go 1.18 and later; Debian's own is the release with the fix.
vendored=src/vendor/github.com/modern-go/reflect2
rm -f $vendored/*.go $vendored/*.s
cp /usr/share/gocode/src/github.com/modern-go/reflect2/*.go /usr/share/gocode/src/github.com/modern-go/reflect2/*.s $vendored/
rm -f $vendored/*_test.go
# Hollow nodes have the size of a GPU server: 96 cores, 1 TiB.
sed -i -E 's/(fakeNumCores +=) [0-9]+/\1 96/; s/(fakeMemoryCapacity +=) [0-9]+/\1 1099511627776/' \
    src/pkg/kubelet/cadvisor/testing/cadvisor_fake.go
python3 "$here/hollow_containers.py" src

cd src
export GOPATH="$PWD/.go" CGO_ENABLED=0 HOME="$work/home" GOCACHE="$work/gocache" GO111MODULE=off
mkdir -p .go/src/k8s.io
[ -L .go/src/k8s.io/kubernetes ] || ln -s ../../.. .go/src/k8s.io/kubernetes
nice -n 19 make WHAT="cmd/kube-apiserver cmd/kube-controller-manager cmd/kube-scheduler cmd/kubemark"
cp _output/bin/kube-apiserver _output/bin/kube-controller-manager _output/bin/kube-scheduler _output/bin/kubemark \
    "$(command -v etcd)" "$folder/bin/"
touch "$folder/ready"
cd "$folder"
rm -rf "$work"
