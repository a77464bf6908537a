# syntax=docker/dockerfile:1
# One image for the operator (mgw operator), the proxies (mgw dataplane) and everything else that mgw does:
#
#   docker build --tag model-gateway:0.1.0 .
#
# Node.js runs the TypeScript. It is the Node.js that package-lock.json pins, so that the image runs on what the tests
# run on. The last stage has no shell and no package manager; its root may be read-only.

# The bases, which releases pin: the digest of the day they were looked up (.github/workflows/release.yml). For a build
# of your own:
#   docker buildx imagetools inspect node:26-trixie-slim --format '{{.Manifest.Digest}}'
#   docker build --build-arg NODE_BASE=node:26-trixie-slim@sha256:… --build-arg RUNTIME_BASE=…@sha256:… .
ARG NODE_BASE=node:26-trixie-slim
ARG RUNTIME_BASE=gcr.io/distroless/cc-debian13:nonroot

FROM ${NODE_BASE} AS modules
WORKDIR /app
# what Node.js needs and the last stage's base lacks; any version of Debian's will do
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends libatomic1 \
 && rm -rf /var/lib/apt/lists/* \
 && mkdir lib \
 && cp --dereference /usr/lib/*-linux-gnu/libatomic.so.1 lib/
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --no-audit --no-fund
# Leaves out what no program loads: what Node.js's package has besides the program, types, source maps, sources and
# tests of packages, addons for other machines and runtimes, and vocabularies of other models. What is compiled below
# shows that nothing is missing.
RUN rm -rf node_modules/node/node_modules node_modules/node/include node_modules/node/share node_modules/*/test node_modules/@*/*/test \
      node_modules/gpt-tokenizer/cjs node_modules/gpt-tokenizer/src node_modules/gpt-tokenizer/data \
 && find node_modules/gpt-tokenizer/esm/bpeRanks -type f ! -name o200k_base.js -delete \
 && find node_modules -type f '(' -name '*.ts' -o -name '*.mts' -o -name '*.cts' -o -name '*.map' -o -name '*.bare' -o -name '*.md' ')' \
      ! -iname '*licen[sc]e*' ! -iname '*notice*' -delete \
 && find node_modules -type f -path '*/prebuilds/*' ! -path "*/prebuilds/linux-$(node -p process.arch)/*" -delete \
 && find node_modules -type d -empty -delete
COPY contract/ contract/
COPY crds/ crds/
COPY kube/ kube/
COPY manifests/ manifests/
COPY runtime/ runtime/
COPY console/ console/
COPY operator/ operator/
COPY dataplane/ dataplane/
COPY web/ web/
COPY demo/ demo/
COPY programs/ programs/
COPY bin/ bin/
# Fills Node's compile cache, to which a read-only root cannot be written later. The cache belongs to the user who runs
# the programs, by its name, but that user cannot change it. This also shows that everything that any source imports was
# copied. One worker refuses to be loaded outside of its thread; all that it imports is loaded here too.
ENV NODE_COMPILE_CACHE=/app/node_modules/.cache/compiled
RUN mkdir node_modules/.cache \
 && chown 65532:65532 node_modules/.cache \
 && setpriv --reuid=65532 --regid=65532 --clear-groups node_modules/.bin/node --input-type=module --eval \
    'import { globSync } from "node:fs"; for (const file of globSync("/app/{bin,console,contract,crds,dataplane,demo,kube,manifests,operator,programs,runtime,web}/**/*.ts")) if (!file.endsWith("/embedded/checkpoint-thread.ts")) await import(file)' \
 && chown --recursive root:root node_modules/.cache

FROM ${RUNTIME_BASE}
LABEL org.opencontainers.image.title="Model Gateway" \
      org.opencontainers.image.description="The gateway for model APIs: exact money, live configuration, any provider" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="0.1.0"
WORKDIR /app
COPY --from=modules /app /app
COPY LICENSE /app/LICENSE
ENV NODE_ENV=production \
    LD_LIBRARY_PATH=/app/lib \
    PATH=/app/node_modules/.bin:/usr/local/bin:/usr/bin:/bin
USER 65532:65532
EXPOSE 8080 9090 18000
ENTRYPOINT ["node", "/app/bin/mgw.js"]
CMD ["--help"]
