# The command and all that it needs, of the versions in constraints.txt (docs/hosting.md).
FROM python:3.11-slim-bookworm AS build
WORKDIR /build
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir dist . \
    && python -m venv --without-pip /opt/compaction-eval \
    && pip --python /opt/compaction-eval/bin/python install --no-cache-dir -c constraints.txt dist/*.whl

FROM python:3.11-slim-bookworm
# Number of the user and group that own the store: yours, so that your logs can be read (`id -u`).
ARG OWNER=1000
RUN groupadd --gid "$OWNER" owner \
    && useradd --uid "$OWNER" --gid owner --no-create-home --home-dir /prefect owner \
    && install -d -m 0700 -o owner -g owner /store /prefect
COPY --from=build /opt/compaction-eval /opt/compaction-eval
# Written to: the store, Prefect's folder, and /tmp, which may be in memory.
ENV PATH=/opt/compaction-eval/bin:$PATH PYTHONDONTWRITEBYTECODE=1 \
    PREFECT_HOME=/prefect XDG_CACHE_HOME=/tmp/cache COMPACTION_EVAL_STORE=/store
USER $OWNER
WORKDIR /tmp
VOLUME ["/store", "/prefect"]
# No HEALTHCHECK: most commands end by themselves, and `serve` looks after its server.
CMD ["compaction-eval", "--help"]
