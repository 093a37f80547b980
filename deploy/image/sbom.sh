#!/bin/sh
# The packages and programs of this image as SPDX 2.3 JSON, to stdout. Runs inside the image.
#   sbom.sh NAME VERSION
set -eu
name=$1 version=$2
packages=$(dpkg-query -W -f '${db:Status-Status} ${Package} ${Version} ${Architecture}\n' | sed -n 's/^installed //p' | LC_ALL=C sort)
programs=$(cd /usr/local/bin && sha256sum bandana-* && cd ../lib && find . -name "libbandana.so.*" -exec sha256sum {} + | sed "s|\./||")
# Equal contents have equal names, other contents other names.
digest=$(printf '%s\n' "$name" "$version" "$packages" "$programs" | sha256sum | cut -c 1-32)
created=$(date -u -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}" +%Y-%m-%dT%H:%M:%SZ)
common='"downloadLocation": "NOASSERTION", "filesAnalyzed": false, "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION"'

cat <<JSON
{
  "spdxVersion": "SPDX-2.3",
  "dataLicense": "CC0-1.0",
  "SPDXID": "SPDXRef-DOCUMENT",
  "name": "$name-$version",
  "documentNamespace": "https://spdx.org/spdxdocs/$name-$version-$digest",
  "creationInfo": {"created": "$created", "creators": ["Tool: bandana-sbom"]},
  "packages": [
    {"SPDXID": "SPDXRef-image", "name": "$name", "versionInfo": "$version", $common, "licenseDeclared": "Apache-2.0", "primaryPackagePurpose": "CONTAINER"}
JSON
printf '%s\n' "$programs" | while read -r sum program; do
  printf '    ,{"SPDXID": "SPDXRef-program-%s", "name": "%s", "versionInfo": "%s", %s, "licenseDeclared": "Apache-2.0", "primaryPackagePurpose": "APPLICATION", ' \
    "$program" "$program" "$version" "$common"
  printf '"checksums": [{"algorithm": "SHA256", "checksumValue": "%s"}]}\n' "$sum"
done
# An identifier has letters, digits, dots and hyphens; a package URL writes + and : by their codes.
printf '%s\n' "$packages" | while read -r package at architecture; do
  printf '    ,{"SPDXID": "SPDXRef-deb-%s", "name": "%s", "versionInfo": "%s", %s, "licenseDeclared": "NOASSERTION", ' \
    "$(printf %s "$package-$architecture" | sed 's/[^A-Za-z0-9.-]/-plus/g')" "$package" "$at" "$common"
  printf '"externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": "pkg:deb/debian/%s@%s?arch=%s"}]}\n' \
    "$(printf %s "$package" | sed 's/+/%2B/g')" "$(printf %s "$at" | sed 's/+/%2B/g; s/:/%3A/g')" "$architecture"
done
printf '  ],\n  "relationships": [\n'
printf '    {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-image"}\n'
printf '%s\n' "$programs" | while read -r _ program; do
  printf '    ,{"spdxElementId": "SPDXRef-image", "relationshipType": "CONTAINS", "relatedSpdxElement": "SPDXRef-program-%s"}\n' "$program"
done
printf '%s\n' "$packages" | while read -r package _ architecture; do
  printf '    ,{"spdxElementId": "SPDXRef-image", "relationshipType": "CONTAINS", "relatedSpdxElement": "SPDXRef-deb-%s"}\n' \
    "$(printf %s "$package-$architecture" | sed 's/[^A-Za-z0-9.-]/-plus/g')"
done
printf '  ]\n}\n'
