# varfocus and its page in a container, as a user without rights.
#
#   docker build -t varfocus .
#   docker run --rm -p 127.0.0.1:8000:8000 -v "$PWD:/data" varfocus
#
# prints the address with its token. Another port, and any other command, is given after the image:
#
#   docker run --rm -p 127.0.0.1:9000:9000 varfocus app --no-browser --port 9000 --listen 0.0.0.0
#   docker run --rm -v "$PWD:/data" --user "$(id -u):$(id -g)" varfocus depth shots/ -o out/

FROM node:24-slim AS page
WORKDIR /varfocus/web
COPY web/ ./
RUN npm install --no-save --no-audit --no-fund && npm run build

FROM python:3.13-slim AS wheel
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /varfocus
COPY pyproject.toml CMakeLists.txt README.md LICENSE ./
COPY src/ src/
COPY --from=page /varfocus/src/ src/
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.13-slim
ARG EXTRAS=app,raw,video,microscopy,zarr
RUN useradd --create-home --uid 10001 varfocus
RUN --mount=type=bind,from=wheel,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-compile "$(ls /wheels/*.whl)[$EXTRAS]"
USER varfocus
WORKDIR /data
ENV MPLCONFIGDIR=/tmp/matplotlib
EXPOSE 8000
# Inside of the container the page has to listen on all addresses; -p 127.0.0.1:… above decides who
# can reach it, and it still answers to 127.0.0.1 and localhost only, to whoever brings the token.
ENTRYPOINT ["/usr/local/bin/varfocus"]
CMD ["app", "--no-browser", "--port", "8000", "--listen", "0.0.0.0"]
