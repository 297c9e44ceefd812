# The worker of the pool `tasks`: the same package, functions and lock as on Lambda.
FROM public.ecr.aws/docker/library/python:3.13-slim
WORKDIR /app
COPY requirements/worker.txt .
RUN pip install --no-cache-dir --require-hashes --only-binary=:all: -r worker.txt \
    && useradd --create-home worker
COPY layers/core/python/lamplighter lamplighter
COPY functions/__init__.py functions/__init__.py
COPY functions/worker functions/worker
# As layers lie on Lambda: the database's authorities and the deployer's handlers, where there are.
COPY infra/aws/opt /opt/
USER worker
ENV PYTHONUNBUFFERED=1 PYTHONPATH=/opt/python
ENTRYPOINT ["python", "-m", "functions.worker.handler"]
