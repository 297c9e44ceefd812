"""A picture is well-formed, shows every value in its place, and minds odd input."""

from xml.etree import ElementTree as ET

from benchmarks import picture

SVG = "{http://www.w3.org/2000/svg}"


def _drawn(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314 - our own


def test_a_line_rises_with_its_values() -> None:
    drawn = _drawn(picture.lines("Starts", {"kafka": [(0, 0), (5, 100), (10, 50)]}, "s", "jobs/s"))

    (line,) = drawn.iter(f"{SVG}polyline")
    points = [tuple(map(float, each.split(","))) for each in line.attrib["points"].split()]
    lows, highs = [x for x, _ in points], [y for _, y in points]
    assert lows == sorted(lows)
    assert highs[1] < highs[2] < highs[0]  # y counts from the top
    assert all(0 <= x <= picture.WIDTH and 0 <= y <= picture.HEIGHT for x, y in points)


def test_bars_are_as_long_as_their_values_say() -> None:
    drawn = _drawn(picture.bars("CPU", {"streams": {"gateway": 10, "valkey": 40}}, "ms"))

    widths = [float(bar.attrib["width"]) for bar in drawn.iter(f"{SVG}rect")]

    assert widths[1] == 4 * widths[0]
    assert {"streams: gateway", "streams: valkey"} <= {text.text for text in drawn.iter()}


def test_names_cannot_break_out_of_a_picture() -> None:
    drawn = _drawn(picture.lines("a < b & c", {'"<x>"': [(0, 1)]}, "&", "<"))

    assert {"a < b & c", '"<x>"'} <= {text.text for text in drawn.iter()}


def test_nothing_to_draw_is_an_empty_picture() -> None:
    assert _drawn(picture.lines("Nothing", {}, "s", "ms")).tag == f"{SVG}svg"
    assert _drawn(picture.bars("Nothing", {"none": {}}, "ms")).tag == f"{SVG}svg"
