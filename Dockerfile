# One file, three images:  --target operator | worker | target.
# Dependencies come from the hash-locked requirements/*.txt and are a layer of their own; the project is a thin layer above.
# Everything is byte-compiled here, because a pod with a read-only root would otherwise compile at every start.
# Behind a proxy that re-signs TLS:  --secret id=ca-bundle,src=BUNDLE.pem --build-arg PIP_CERT=/run/ca-bundle.pem

FROM debian:trixie-slim AS base
ENV PATH=/opt/sshload/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
# "*" is a password that nothing matches but, unlike useradd's "!", does not lock the account: sshd would refuse even keys.
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3 > /dev/null \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/debconf/*-old /var/log/* \
 && useradd --uid 10001 --user-group --create-home --home-dir /home/load --shell /bin/bash load \
 && usermod --password '*' load

FROM base AS tools
RUN apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends ca-certificates python3-venv > /dev/null
ARG PIP_CERT PIP_INDEX_URL
COPY requirements/build.txt /src/requirements/
RUN --mount=type=secret,id=ca-bundle,target=/run/ca-bundle.pem \
    python3 -m venv /opt/tools \
 && /opt/tools/bin/pip install -q --disable-pip-version-check --no-cache-dir --require-hashes -r /src/requirements/build.txt
COPY --chmod=755 scripts/image-venv /opt/tools/bin/image-venv

FROM tools AS operator-venv
ARG PIP_CERT PIP_INDEX_URL
COPY requirements/operator.txt /src/requirements/
RUN --mount=type=secret,id=ca-bundle,target=/run/ca-bundle.pem /opt/tools/bin/image-venv dependencies /src/requirements/operator.txt

# The worker's SSH library, compiled for speed: see patches/README.md.
FROM tools AS ssh2-wheel
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends cmake gcc libc6-dev make patch python3-dev zlib1g-dev > /dev/null
ARG PIP_CERT PIP_INDEX_URL
COPY requirements/ssh2-build.txt requirements/ssh2-source.txt /src/requirements/
COPY patches /src/patches
COPY --chmod=755 scripts/ssh2-wheel /src/scripts/ssh2-wheel
RUN --mount=type=secret,id=ca-bundle,target=/run/ca-bundle.pem /src/scripts/ssh2-wheel /wheels

FROM tools AS worker-venv
ARG PIP_CERT PIP_INDEX_URL
COPY requirements/worker.txt /src/requirements/
COPY --from=ssh2-wheel /wheels /wheels
RUN --mount=type=secret,id=ca-bundle,target=/run/ca-bundle.pem /opt/tools/bin/image-venv dependencies /src/requirements/worker.txt /wheels

FROM tools AS target-venv
ARG PIP_CERT PIP_INDEX_URL
COPY requirements/target.txt /src/requirements/
RUN --mount=type=secret,id=ca-bundle,target=/run/ca-bundle.pem /opt/tools/bin/image-venv dependencies /src/requirements/target.txt

FROM tools AS project
COPY pyproject.toml README.md LICENSE /src/
COPY contract /src/contract
COPY operator /src/operator
COPY workers /src/workers
COPY target /src/target
RUN /opt/tools/bin/image-venv project /src

# The operator makes key pairs with ssh-keygen.
FROM base AS operator
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends openssh-client > /dev/null \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/debconf/*-old /var/log/*
COPY --from=operator-venv /opt/sshload /opt/sshload
COPY --from=project /opt/sshload /opt/sshload
USER 10001:10001
WORKDIR /tmp
ENTRYPOINT ["python", "-m", "sshload_operator"]

# Auth by agent starts an ssh-agent.
FROM base AS worker
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends openssh-client > /dev/null \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/debconf/*-old /var/log/*
COPY --from=worker-venv /opt/sshload /opt/sshload
COPY --from=project /opt/sshload /opt/sshload
USER 10001:10001
WORKDIR /tmp
ENTRYPOINT ["python", "-m", "sshload_worker"]

# Host keys are made when a target starts: none may come with the image.
FROM base AS target
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends git openssh-server > /dev/null \
 && rm -rf /etc/ssh/ssh_host_* /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/debconf/*-old /var/log/*
COPY --from=target-venv /opt/sshload /opt/sshload
COPY --from=project /opt/sshload /opt/sshload
USER 10001:10001
WORKDIR /tmp
ENTRYPOINT ["python", "-m", "sshload_target"]
