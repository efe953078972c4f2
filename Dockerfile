# The image of the action; BuildKit and the legacy builder both build it.
#   docker build --tag ml-audit .
ARG PYTHON_IMAGE=python:3.13-slim-trixie

FROM ${PYTHON_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
COPY requirements/runtime.lock /build/runtime.lock
# Wheels only, so nothing is compiled. The environment gets no pip of its own: the base's works on it from outside.
RUN python -m venv --without-pip /opt/ml-audit \
 && python -m pip --python /opt/ml-audit/bin/python install --quiet --no-compile --only-binary :all: \
      --require-hashes --requirement /build/runtime.lock
COPY entrypoint.py /opt/ml-audit/app/
COPY templates /opt/ml-audit/app/templates
COPY audit /opt/ml-audit/app/audit
# unchecked-hash: valid whatever times the layers give to the files, and the source is not looked at when it is loaded.
RUN /opt/ml-audit/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash \
      /opt/ml-audit/lib /opt/ml-audit/app

FROM ${PYTHON_IMAGE}
# Perl is most of what Debian's git brings along and only commands that are never called here (send-email, svn) use it;
# translations and manuals are left out for their size too; licences stay.
RUN { printf 'path-exclude=/usr/share/%s/*\n' doc man locale; echo 'path-include=/usr/share/doc/*/copyright'; } > /etc/dpkg/dpkg.cfg.d/ml-audit \
 && apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends git > /dev/null \
 && dpkg --purge --force-depends $(dpkg-query -W -f '${Package}\n' perl 'perl-modules-*' 'libperl5*' liberror-perl) > /dev/null 2>&1 \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/apt /var/log/dpkg.log /etc/dpkg/dpkg.cfg.d/ml-audit
COPY --from=build /opt/ml-audit /opt/ml-audit
ARG VERSION=0
ARG REVISION=unknown
ARG SOURCE=https://github.com/OWNER/ml-audit
LABEL org.opencontainers.image.title="ml-audit" \
      org.opencontainers.image.description="Can this machine-learning repository be reproduced?" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# GitHub asks for root and sets the working directory itself, so there is neither USER nor WORKDIR.
# -I: neither variables of the workflow (PYTHONPATH, PYTHONSTARTUP, ...) nor the checkout have a say in what is imported.
ENTRYPOINT ["/opt/ml-audit/bin/python", "-I", "-u", "/opt/ml-audit/app/entrypoint.py"]
