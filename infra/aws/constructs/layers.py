"""What is shipped: layers, each function's own code, and what the worker's image is built from."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import jsii
from aws_cdk import AssetHashType, BundlingOptions, DockerImage, ILocalBundling
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.aws import assets
from infra.aws.brought import AUTHORITIES, handler_files
from infra.aws.options import Options
from layers.bytecode import LAMBDA, add_bytecode, interpreter
from layers.dependencies import build

RUNTIME: Final = lambda_.Runtime.PYTHON_3_13
ARCHITECTURE: Final = lambda_.Architecture.ARM_64
_STAGED: Final = assets.ROOT / ".cache" / "assets"


class Layers(Construct):
    """What a deployer brings is in layers of its own, so that ours stays what was tested."""

    def __init__(self, scope: Construct, name: str, options: Options) -> None:
        super().__init__(scope, name)
        self._all = [
            self._layer("Core", _staged(assets.core_files()), "lamplighter"),
            self._layer("Dependencies", _dependencies(), "what lamplighter imports"),
        ]
        if options.authorities:
            files = {AUTHORITIES: options.authorities}
            self._all.append(self._layer("Authorities", _staged(files), "whom to believe"))
        self._own = []
        if options.handlers:
            files = handler_files(options.handlers)
            self._own.append(self._layer("Handlers", _staged(files), "the deployer's handlers"))

    def of(self, function: str) -> list[lambda_.LayerVersion]:
        """Handlers are run by one function alone."""
        return self._all + self._own if function == "executor" else self._all

    def _layer(self, name: str, code: lambda_.Code, what: str) -> lambda_.LayerVersion:
        return lambda_.LayerVersion(
            self,
            name,
            code=code,
            description=what,
            compatible_runtimes=[RUNTIME],
            compatible_architectures=[ARCHITECTURE],
        )


def function_code(function: str) -> lambda_.Code:
    """Only its own folder, under its own path: `functions.submit.handler` everywhere."""
    return _staged(assets.function_files(function))


def _staged(files: assets.Files) -> lambda_.Code:
    """With bytecode where the Python for it is here, which makes another zip."""
    digest = assets.digest(files) + ("-compiled" if interpreter(LAMBDA) else "")
    folder = _laid_out(files, digest, add_bytecode)
    return lambda_.Code.from_asset(
        str(folder), asset_hash=digest, asset_hash_type=AssetHashType.CUSTOM
    )


def image_folder(options: Options) -> Path:
    """What Docker builds the worker from: the files that its Dockerfile copies, and no others."""
    brought = {AUTHORITIES: options.authorities} if options.authorities else {}
    own = handler_files(options.handlers) if options.handlers else {}
    files = assets.worker_files(brought | own)
    return _laid_out(files, f"{assets.digest(files)}-image")


def _laid_out(
    files: assets.Files, digest: str, finish: Callable[[Path], object] = lambda _: None
) -> Path:
    """Once for each content, so that a second synthesis copies nothing."""
    folder = _STAGED / digest
    if not folder.exists():
        fresh = folder.with_name(f"{digest}.{os.getpid()}")
        shutil.rmtree(fresh, ignore_errors=True)
        finish(assets.write(files, fresh))
        fresh.rename(folder)
    return folder


def _dependencies() -> lambda_.Code:
    """Hashed by what decides its content, so it need not be built to know whether it changed."""
    return lambda_.Code.from_asset(
        str(build.LOCK.parent),
        asset_hash=build.digest(build.ARM64),
        asset_hash_type=AssetHashType.CUSTOM,
        bundling=BundlingOptions(image=_NO_DOCKER, local=_Pip()),
    )


# The CDK asks for an image; what is local never falls back to it.
_NO_DOCKER: Final = DockerImage.from_registry("none")


@jsii.implements(ILocalBundling)
class _Pip:
    """Wheels for another machine, chosen by pip: see layers/dependencies."""

    def try_bundle(self, output_dir: str, *_: Any, **__: Any) -> bool:
        """True, or an error: a False would ask for Docker."""
        shutil.copytree(build.layer(build.ARM64), Path(output_dir), dirs_exist_ok=True)
        return True
