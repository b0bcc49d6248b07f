# One file, six images:  --target operator | worker | target | system | gateway | proxy.
# Dependencies come from the hash-locked requirements/*.txt and are a layer of their own; the project is a thin layer above.
# Everything is byte-compiled here, because a pod with a read-only root would otherwise compile at every start.
# Two builds with the same SOURCE_DATE_EPOCH are the same, byte by byte, where Debian's packages are: name a DEBIAN_SNAPSHOT for that.
# Behind a proxy that re-signs TLS:  --secret id=ca-bundle,src=BUNDLE.pem --build-arg PIP_CERT=/run/ca-bundle.pem

# scripts/images puts a Debian of its own in this image's place where no registry can be reached. To renew it: see CONTRIBUTING.md.
FROM docker.io/library/debian:trixie-20260918-slim@sha256:a99cfc517144bc59b1978475ec53b46ecabec7e43635402ee5b77cc54cd1b20a AS base
ENV PATH=/opt/sshload/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
# "*" is a password that nothing matches but, unlike useradd's "!", does not lock the account: sshd would refuse even keys.
# Under another uid, a process writes its user's entry to /tmp/passwd: see sshload_contract/image_user.py.
ARG SOURCE_DATE_EPOCH DEBIAN_SNAPSHOT
RUN --mount=type=bind,source=scripts/image-packages,target=/mnt/image-packages \
    sh /mnt/image-packages libnss-extrausers python3 \
 && python3 -m compileall -q -f --invalidation-mode unchecked-hash /usr/lib/python3* \
 && sed -i 's/^passwd:.*/passwd: extrausers files/' /etc/nsswitch.conf && grep -q extrausers /etc/nsswitch.conf \
 && ln -s /tmp/passwd /var/lib/extrausers/passwd \
 && useradd --uid 10001 --user-group --create-home --home-dir /home/load --shell /bin/bash load \
 && usermod --password '*' load

FROM base AS tools
ARG SOURCE_DATE_EPOCH DEBIAN_SNAPSHOT PIP_CERT PIP_INDEX_URL
RUN --mount=type=bind,source=scripts/image-packages,target=/mnt/image-packages sh /mnt/image-packages ca-certificates python3-venv
COPY requirements/build.txt /src/requirements/
RUN --mount=type=secret,id=ca-bundle,target=/run/ca-bundle.pem \
    python3 -m venv /opt/tools \
 && /opt/tools/bin/pip install -q --disable-pip-version-check --no-cache-dir --require-hashes -r /src/requirements/build.txt
COPY --chmod=755 scripts/image-venv /opt/tools/bin/image-venv

FROM tools AS operator-venv
ARG SOURCE_DATE_EPOCH PIP_CERT PIP_INDEX_URL
COPY requirements/operator.txt requirements/cli.txt /src/requirements/
RUN --mount=type=secret,id=ca-bundle,target=/run/ca-bundle.pem /opt/tools/bin/image-venv dependencies /src/requirements/operator.txt \
 && /opt/tools/bin/image-venv dependencies /src/requirements/cli.txt

# The worker's SSH library, compiled for speed: see ssh-library/README.md.
FROM tools AS ssh2-wheel
ARG SOURCE_DATE_EPOCH DEBIAN_SNAPSHOT PIP_CERT PIP_INDEX_URL
RUN --mount=type=bind,source=scripts/image-packages,target=/mnt/image-packages \
    sh /mnt/image-packages cmake gcc libc6-dev make patch python3-dev zlib1g-dev
COPY requirements/ssh2-build.txt requirements/ssh2-source.txt /src/requirements/
COPY ssh-library /src/ssh-library
RUN --mount=type=secret,id=ca-bundle,target=/run/ca-bundle.pem /src/ssh-library/build-wheel /wheels

FROM tools AS worker-venv
ARG SOURCE_DATE_EPOCH PIP_CERT PIP_INDEX_URL
COPY requirements/worker.txt /src/requirements/
COPY --from=ssh2-wheel /wheels /wheels
RUN --mount=type=secret,id=ca-bundle,target=/run/ca-bundle.pem /opt/tools/bin/image-venv dependencies /src/requirements/worker.txt /wheels

FROM tools AS target-venv
ARG SOURCE_DATE_EPOCH PIP_CERT PIP_INDEX_URL
COPY requirements/target.txt /src/requirements/
RUN --mount=type=secret,id=ca-bundle,target=/run/ca-bundle.pem /opt/tools/bin/image-venv dependencies /src/requirements/target.txt

FROM tools AS gateway-venv
ARG SOURCE_DATE_EPOCH PIP_CERT PIP_INDEX_URL
COPY requirements/gateway.txt /src/requirements/
RUN --mount=type=secret,id=ca-bundle,target=/run/ca-bundle.pem /opt/tools/bin/image-venv dependencies /src/requirements/gateway.txt

FROM tools AS project
ARG SOURCE_DATE_EPOCH
COPY pyproject.toml README.md LICENSE /src/
COPY contract /src/contract
COPY operator /src/operator
COPY workers /src/workers
COPY targets /src/targets
COPY gateway /src/gateway
RUN /opt/tools/bin/image-venv project /src

# The operator makes key pairs with ssh-keygen.
FROM base AS operator-dependencies
ARG SOURCE_DATE_EPOCH DEBIAN_SNAPSHOT
RUN --mount=type=bind,source=scripts/image-packages,target=/mnt/image-packages sh /mnt/image-packages openssh-client
COPY --from=operator-venv /opt/sshload /opt/sshload

FROM operator-dependencies AS operator
COPY --from=project /opt/sshload /opt/sshload
USER 10001:10001
WORKDIR /tmp
ENTRYPOINT ["python", "-m", "sshload_operator"]

# Auth by agent starts an ssh-agent, and the step rsync runs rsync.
FROM base AS worker-dependencies
ARG SOURCE_DATE_EPOCH DEBIAN_SNAPSHOT
RUN --mount=type=bind,source=scripts/image-packages,target=/mnt/image-packages sh /mnt/image-packages libgssapi-krb5-2 openssh-client rsync
COPY --from=worker-venv /opt/sshload /opt/sshload

FROM worker-dependencies AS worker
COPY --from=project /opt/sshload /opt/sshload
USER 10001:10001
WORKDIR /tmp
ENTRYPOINT ["python", "-m", "sshload_worker"]

# Host keys are made when a target starts: none may come with the image.
FROM base AS target-dependencies
ARG SOURCE_DATE_EPOCH DEBIAN_SNAPSHOT
RUN --mount=type=bind,source=scripts/image-packages,target=/mnt/image-packages sh /mnt/image-packages git openssh-server rsync \
 && rm -f /etc/ssh/ssh_host_*
COPY --from=target-venv /opt/sshload /opt/sshload

FROM target-dependencies AS target
COPY --from=project /opt/sshload /opt/sshload
USER 10001:10001
WORKDIR /tmp
ENTRYPOINT ["python", "-m", "sshload_target"]

# The server of a distribution, with what can answer for its accounts. Nothing of it is started or set up here: the target does
# that for its run. Names come from /etc alone, because in a pod with many users each of them may write to /tmp.
FROM target-dependencies AS system-dependencies
ARG SOURCE_DATE_EPOCH DEBIAN_SNAPSHOT
RUN --mount=type=bind,source=scripts/image-packages,target=/mnt/image-packages \
    echo 'slapd slapd/no_configuration boolean true' | debconf-set-selections \
 && sh /mnt/image-packages krb5-admin-server krb5-kdc krb5-user libnss-sss libpam-oath libpam-sss slapd sssd-ldap \
 && pam-auth-update --package --remove sss \
 && rm /var/lib/extrausers/passwd \
 && sed -i 's/extrausers //' /etc/nsswitch.conf && ! grep -q extrausers /etc/nsswitch.conf

FROM system-dependencies AS system
COPY --from=project /opt/sshload /opt/sshload
USER 10001:10001
WORKDIR /tmp
ENTRYPOINT ["python", "-m", "sshload_target"]

# SSH and SFTP are spoken by a library: the gateway starts no program.
FROM base AS gateway-dependencies
COPY --from=gateway-venv /opt/sshload /opt/sshload

FROM gateway-dependencies AS gateway
COPY --from=project /opt/sshload /opt/sshload
USER 10001:10001
WORKDIR /tmp
ENTRYPOINT ["python", "-m", "sshload_gateway"]

# The proxies in the path to a target: see operator/sshload_operator/planning/proxy_programs.py. Configuration comes from the run.
FROM base AS proxy-dependencies
ARG SOURCE_DATE_EPOCH DEBIAN_SNAPSHOT
RUN --mount=type=bind,source=scripts/image-packages,target=/mnt/image-packages sh /mnt/image-packages haproxy libnginx-mod-stream nginx
COPY --from=target-venv /opt/sshload /opt/sshload

FROM proxy-dependencies AS proxy
COPY --from=project /opt/sshload /opt/sshload
USER 10001:10001
WORKDIR /tmp
ENTRYPOINT ["python", "-m", "sshload_target.in_path"]
