# The server and its operator's tool on Debian 12. See deploy/README.md.
FROM debian:12 AS build
WORKDIR /src
# Packages first: this layer stays as long as ./dev does.
COPY dev ./
RUN ./dev setup
COPY . .
RUN cmake --preset release && cmake --build --preset release --target bandana-server bandana-ctl

FROM debian:12-slim
# The libraries of the packages that `./dev setup` builds with.
RUN apt-get update \
 && apt-get install -y --no-install-recommends libgrpc++1.51 libprotobuf32 libsqlite3-0 libssl3 libcivetweb1 \
      libprometheus-cpp-core1.0 libspdlog1.10 libabsl20220623 libopenblas0-pthread liblapacke curl \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --home-dir /data bandana \
 && install -d -o bandana -g bandana -m 0700 /data
COPY --from=build /src/build/release/bin/bandana-server /src/build/release/bin/bandana-ctl /usr/local/bin/
COPY deploy/container.textproto /etc/bandana/server.textproto
USER bandana
VOLUME /data
EXPOSE 7070 7071
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s CMD curl -fsS http://127.0.0.1:7071/healthz
STOPSIGNAL SIGTERM
ENTRYPOINT ["bandana-server", "--config", "/etc/bandana/server.textproto"]
