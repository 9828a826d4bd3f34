"""Lines and tables on standard output; plain ASCII where it is no terminal."""

from collections.abc import Sequence

from toydepth.settings import printable


class Printed:
    """Where a verb prints what it found."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console()
        self._plain = not self._console.is_terminal
        if self._plain:
            self._console = Console(width=160)

    def line(self, words: object = "") -> None:
        self._console.print(self._text(words), soft_wrap=True)

    def table(self, title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table; its first column is of names. A cell may have several lines."""
        from rich import box
        from rich.table import Table
        from rich.text import Text

        look = box.ASCII if self._plain else box.SIMPLE_HEAD
        table = Table(box=look, title=title, title_justify="left")
        for i, heading in enumerate(headings):
            # Folded where there is no room: a number cut short would be another number.
            table.add_column(
                self._text(heading), justify="left" if i == 0 else "right", overflow="fold"
            )
        for row in rows:
            cells = (str(cell).split("\n") for cell in row)
            table.add_row(*(Text("\n").join(map(self._text, lines)) for lines in cells))
        self._console.print(table)

    def _text(self, words: object):
        from rich.text import Text

        encoding = "ascii" if self._plain else self._console.encoding
        return Text(printable(words).encode(encoding, "backslashreplace").decode(encoding))
