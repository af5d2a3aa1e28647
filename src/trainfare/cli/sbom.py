"""`trainfare sbom`: the software that this installation consists of, with licenses."""

import json

import click

from trainfare.cli import output, terminal

COLUMNS = ("name", "version", "license", "part")
FORMATS = ("table", "cyclonedx", "json", "csv", "md")


@click.command()
@click.option(
    "--format", "format_", type=click.Choice(FORMATS), default="table", show_default=True, help="Output format."
)
def sbom(format_: str) -> None:
    """List every installed package with version and license: a software bill of materials.

    cyclonedx is CycloneDX 1.6 as JSON, for tools that look for vulnerabilities or check licenses.
    """
    from trainfare.report import components

    found = components.components()
    if format_ == "cyclonedx":
        print(json.dumps(components.cyclonedx(found), indent=2))
    else:
        records = [one.record() for one in found]
        title = f"Software bill of materials: {terminal.count(len(records), 'package')}"
        output.show(output.Listing("components", records, COLUMNS, title, max_rows=len(records)), format_)
    if not any(one.kind == "npm" for one in found):
        terminal.message("The scripts of the pages are not built, so what they contain is not listed: make assets")
