#!/usr/bin/env bash
# Builds the images bandana-server and bandana-tools. `./dev image` runs it after the release build.
# Prints `image=NAME size_mib=N` for each; everything else goes to stderr.
#
# Docker or podman build them where they answer. Elsewhere buildah does, as root and without a daemon, on a base image
# that debootstrap makes from the machine's package mirror. Everything it keeps is in build/image; remove that folder to
# take new packages. The environment may name the engine (BANDANA_IMAGE_ENGINE=docker, podman or buildah) and the base
# image (BANDANA_IMAGE_BASE).
set -euo pipefail
cd "$(dirname "$0")/../.."

work=$PWD/build/image
suite=bookworm
engine=${BANDANA_IMAGE_ENGINE:-}
base=${BANDANA_IMAGE_BASE:-}

say() { printf '== %s\n' "$*" >&2; }
fail() { printf '%s\n' "$*" >&2; exit 1; }

# The first that answers; having the program alone is not enough.
choose_engine() {
  local program
  for program in docker podman; do
    if timeout 20 "$program" info >/dev/null 2>&1 && timeout 20 "$program" ps >/dev/null 2>&1; then
      echo "$program"
      return
    fi
  done
  echo buildah
}

# A word before every buildah call: all of its state is in build/image.
buildah_() {
  BUILDAH_ISOLATION=chroot buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"
}

install_buildah() {
  [ "$(id -u)" = 0 ] || fail "building an image without docker and podman needs root"
  command -v buildah >/dev/null && command -v debootstrap >/dev/null && return
  say "installing buildah and debootstrap"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends buildah debootstrap >/dev/null
}

# The mirror that this machine takes packages of a suite from.
mirror_of() {  # SUITE FALLBACK
  local found
  # shellcheck disable=SC2016  # apt expands them
  found=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null | sed -n "s/^$1 //p" | head -n 1)
  echo "${found:-$2}"
}

# debian:12-slim from packages: without documents, manuals and translations.
make_base() {
  buildah_ inspect --type image bandana-base >/dev/null 2>&1 && return
  local root=$work/base mirror security
  mirror=$(mirror_of "$suite" http://deb.debian.org/debian)
  security=$(mirror_of "$suite-security" http://deb.debian.org/debian-security)
  say "making the base image from $mirror"
  rm -rf "$root"
  mkdir -p "$root"
  debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$work/debootstrap.log" 2>&1 ||
    { tail -n 20 "$work/debootstrap.log" >&2; fail "debootstrap failed: see $work/debootstrap.log"; }
  printf 'deb %s %s main\n' "$mirror" "$suite" "$mirror" "$suite-updates" "$security" "$suite-security" >"$root/etc/apt/sources.list"
  printf 'path-exclude /usr/share/%s/*\n' doc man info locale >"$root/etc/dpkg/dpkg.cfg.d/slim"
  echo 'path-include /usr/share/doc/*/copyright' >>"$root/etc/dpkg/dpkg.cfg.d/slim"
  echo 'APT::Install-Recommends "false";' >"$root/etc/apt/apt.conf.d/slim"
  find "$root/usr/share/doc" -type f ! -name copyright -delete
  rm -rf "$root"/usr/share/{man,info,locale}/* "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/* "$root"/var/log/*
  local container
  container=$(buildah_ from scratch)
  buildah_ copy -q "$container" "$root" / >/dev/null
  buildah_ config --cmd /bin/sh --label org.opencontainers.image.title=bandana-base "$container"
  buildah_ commit -q --rm "$container" bandana-base >/dev/null
  rm -rf "$root"
}

build_image() {  # TAG CONTEXT ARGUMENTS...
  local tag=$1 context=$2
  shift 2
  case "$engine" in
    # Health checks are no part of the OCI format.
    buildah) buildah_ bud --quiet --layers --format docker -t "$tag" "$@" "$context" >&2 ;;
    podman) podman build --quiet --format docker -t "$tag" "$@" "$context" >&2 ;;
    docker) docker build --quiet -t "$tag" "$@" "$context" >&2 ;;
  esac
}

size_mib() {  # IMAGE
  local container bytes
  if [ "$engine" = buildah ]; then
    container=$(buildah_ from "$1")
    bytes=$(du -s --apparent-size -B1 "$(buildah_ mount "$container")" | cut -f 1)
    buildah_ rm "$container" >/dev/null
  else
    bytes=$("$engine" image inspect --format '{{.Size}}' "$1")
  fi
  echo $(((bytes + 1048575) / 1048576))
}

[ -n "$engine" ] || engine=$(choose_engine)
say "building with $engine"
mkdir -p "$work"
# Podman may not take a name without its registry.
[ "$engine" != podman ] || base=${base:-docker.io/library/debian:12-slim}
if [ "$engine" = buildah ]; then
  install_buildah
  if [ -z "$base" ]; then
    make_base
    base=localhost/bandana-base
  fi
fi
[ $# = 0 ] || fail "unknown option $1"
for file in bin/bandana-server bin/bandana-ctl bin/bandana-fleet lib/libbandana.so.0; do
  [ -e "build/release/$file" ] || fail "there is no build/release/$file: run ./dev build first"
done
version=$(sed -n 's/^project(bandana VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
revision=$(git rev-parse HEAD 2>/dev/null || echo unknown)
for target in server tools; do
  build_image "bandana-$target" . --target "$target" ${base:+--build-arg "BASE=$base"} \
    --build-arg "VERSION=$version" --build-arg "REVISION=$revision"
  echo "image=bandana-$target size_mib=$(size_mib "bandana-$target")"
done
