# An image of Headway with the packages of requirements.txt in the build folder. Headway's own
# packages keep their versions.
ARG IMAGE=headway
FROM ${IMAGE} AS packages
USER 0
RUN apt-get update && apt-get install --yes --no-install-recommends python3-pip
COPY requirements.txt /
RUN --mount=type=secret,id=pip.conf,target=/etc/pip.conf \
    --mount=type=secret,id=ca.crt,target=/run/secrets/ca.crt \
    mkdir /layer \
 && pip --python /opt/headway/bin/python freeze --exclude headway > /constraints.txt \
 && pip --python /opt/headway/bin/python install --no-cache-dir --no-warn-script-location \
      --root /layer --constraint /constraints.txt --requirement /requirements.txt

FROM ${IMAGE}
COPY --from=packages /layer /
