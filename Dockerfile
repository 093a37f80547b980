# Two images: `server` (bandana-server, bandana-ctl) and `tools` (bandana-fleet, bandana-ctl). They take the programs of
# build/release; `./dev image` builds both. See deploy/README.md.
ARG BASE=debian:12-slim

FROM ${BASE} AS runtime
# The libraries of the packages that `./dev setup` builds with.
RUN apt-get update \
 && apt-get install -y --no-install-recommends libgrpc++1.51 libprotobuf32 libsqlite3-0 libpq5 libssl3 \
      libprometheus-cpp-core1.0 libspdlog1.10 libabsl20220623 libopenblas0-pthread liblapacke libsimdjson14 \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/lib/dpkg/*-old /var/log/* \
 && useradd --uid 10001 --user-group --no-create-home --home-dir /data --shell /usr/sbin/nologin bandana \
 && install -d -o bandana -g bandana -m 0700 /data
ARG VERSION=0
ARG REVISION=unknown
LABEL org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.vendor="bandana"

FROM runtime AS tools
ARG VERSION=0
COPY build/release/bin/bandana-fleet build/release/bin/bandana-ctl /usr/local/bin/
COPY build/release/lib/libbandana.so.0 /usr/local/lib/
COPY deploy/image/sbom.sh /usr/share/bandana/
RUN sh /usr/share/bandana/sbom.sh bandana-tools "${VERSION}" >/usr/share/bandana/sbom.spdx.json
LABEL org.opencontainers.image.title="bandana-tools" \
      org.opencontainers.image.description="Simulated users and the operator's tool of bandana"
USER 10001:10001
WORKDIR /tmp
ENTRYPOINT ["bandana-fleet"]

FROM runtime AS server
ARG VERSION=0
COPY build/release/bin/bandana-server build/release/bin/bandana-ctl /usr/local/bin/
COPY deploy/image/sbom.sh /usr/share/bandana/
RUN sh /usr/share/bandana/sbom.sh bandana-server "${VERSION}" >/usr/share/bandana/sbom.spdx.json
COPY deploy/container.textproto /etc/bandana/server.textproto
LABEL org.opencontainers.image.title="bandana-server" \
      org.opencontainers.image.description="Recommendations that do not learn what each user did"
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 7070 7071 7073
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s CMD ["bandana-ctl", "health"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["bandana-server", "--config", "/etc/bandana/server.textproto"]
