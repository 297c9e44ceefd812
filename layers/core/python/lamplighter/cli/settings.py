"""`settings`: the page that lists them."""

import click


@click.command()
def settings() -> None:
    """Print every setting as the page docs/settings.md."""
    from lamplighter.settings import as_markdown

    click.echo(as_markdown(), nl=False)
