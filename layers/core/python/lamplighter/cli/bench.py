"""`bench`: the benchmarks of a checkout, in a process of their own. The package has none."""

import subprocess
import sys
from pathlib import Path
from typing import Final

import click

# In a checkout this file is layers/core/python/lamplighter/cli/bench.py.
CHECKOUT: Final = Path(__file__).resolve().parents[5]


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--quick", is_flag=True, help="Small sizes; without a name a selection.")
@click.option("--keep", is_flag=True, help="Write the results into docs/performance.md.")
@click.option("--json", "file", metavar="FILE", help="Write the JSON there as well.")
@click.pass_context
def bench(
    ctx: click.Context, *, names: tuple[str, ...], quick: bool, keep: bool, file: str | None
) -> None:
    """Measure this machine with a benchmark, in a checkout.

    Prints a table, then JSON; docs/performance.md has their names and what they mean.
    """
    options = [*(["--quick"] if quick else []), *(["--keep"] if keep else [])]
    if file:
        options += ["--json", str(Path(file).resolve())]
    ctx.exit(_run(CHECKOUT, [*options, *names]))


def _run(checkout: Path, arguments: list[str]) -> int:
    if not (checkout / "benchmarks" / "__main__.py").is_file():
        raise click.ClickException(
            "The benchmarks are not installed with the package. Run this in a checkout of"
            " Lamplighter, after `make up` or `make test` has set it up there."
        )
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=checkout, check=False).returncode
