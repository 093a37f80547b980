# The programs of build/release/bin, built in a container: `./dev image --from-sources`. See deploy/README.md.
ARG BASE=debian:12
FROM ${BASE}
WORKDIR /src
# Packages first: this layer stays as long as ./dev does.
COPY dev ./
RUN ./dev setup
COPY . .
ARG JOBS=2
RUN cmake --preset release \
 && cmake --build --preset release -j "${JOBS}" --target bandana-server bandana-ctl bandana-fleet
