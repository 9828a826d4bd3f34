import io
import re

import pytest
from rich.console import Console

from toydepth.commands.progress_bar import Rate, clock, progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def run_job(plain=None, steps_per_rung=1000):
    with progress(4 * steps_per_rung, plain) as bar:
        for rung in range(4):
            for step in range(10, steps_per_rung + 1, 10):
                bar.update(rung * steps_per_rung + step, f"rung {rung + 1}/4 · depth {rung}", 0.5)
        bar.note("done")


def test_plain_lines_are_few_and_free_of_control_characters(capsys):
    run_job()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert not re.search(r"[^\n -~·]", captured.err)
    lines = captured.err.splitlines()
    for rung in range(1, 5):
        mine = [line for line in lines if line.startswith(f"rung {rung}/4")]
        assert 1 <= len(mine) <= 11
        assert f"step {rung * 1000}/4000" in mine[-1]  # the rung's end is always told
    assert "loss 5.00e-01" in lines[0]
    assert "done" in lines


def test_a_loss_may_be_unknown(capsys):
    with progress(10, plain=True) as bar:
        bar.update(1, "rung 1/1", None)
    assert capsys.readouterr().err == "rung 1/1 | step 1/10\n"


def test_the_last_plain_line_is_printed_even_if_the_job_fails(capsys):
    with pytest.raises(KeyboardInterrupt), progress(1000, plain=True) as bar:
        bar.update(7, "rung 1/1", 1.0)
        raise KeyboardInterrupt
    assert "step 7/1000" in capsys.readouterr().err


@pytest.mark.parametrize("variable", [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_terminal_that_may_not_be_drawn_on_gets_plain_lines(monkeypatch, variable):
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    monkeypatch.setenv(*variable)
    run_job()
    assert "\x1b" not in terminal.getvalue()
    assert "step 4000/4000" in terminal.getvalue()


def test_a_terminal_gets_a_live_bar_with_notes_above(monkeypatch):
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "140")
    run_job()
    shown = terminal.getvalue()
    assert "\x1b[" in shown
    assert "rung 4/4 · depth 3" in shown
    assert "step 4000/4000" in shown
    assert "left" in shown
    assert "done" in shown


@pytest.mark.parametrize(
    "depths, steps, shown",
    [
        ("12", 11_250, "rung 3/4 · depth 12 "),
        ("12", 60_000, "rung 3/4 · depth 12 "),
        ("6, 12, 16, 24, 32, 48", 20_000, "rung 3/4 · depth 6, …"),
    ],
)
def test_the_bar_and_its_words_fit_80_columns(monkeypatch, depths, steps, shown):
    now = iter([seconds for tick in range(1000) for seconds in (0.1 * tick,) * 2])
    monkeypatch.setattr("toydepth.commands.progress_bar.time.monotonic", lambda: next(now))
    monkeypatch.setattr("sys.stderr", Terminal())
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    with progress(4 * steps) as bar:
        for step in range(100, 500, 100):
            bar.update(
                2 * steps + step, f"rung 3/4 · depth {depths}", 1.234e-4, share=0.5 + step / 1e7
            )
        screen = Console(file=Terminal(), width=80, color_system=None)
        screen.print(bar._live.get_renderable())
    (line,) = screen.file.getvalue().splitlines()
    assert len(line) <= 80 and line.startswith(shown)
    done = f"step {2 * steps + 400}/{4 * steps}"
    assert line.endswith(f"{done} | loss 1.23e-04 | 1000/s | 1:23:20 left")
    assert depths != "12" or "━" in line or "╸" in line


def test_the_rate_leaves_out_compilation():
    rate = Rate()
    rate.update(10, 100.0, skip=True)  # 100 s of compilation
    assert rate.value is None
    rate.update(20, 101.0, skip=False)
    assert rate.value == 10
    rate.update(30, 201.0, skip=True)  # the next rung compiles
    assert rate.value == 10
    rate.update(50, 202.0, skip=False)
    assert rate.value == pytest.approx(12)


def test_clock():
    assert [clock(seconds) for seconds in (-1, 5, 65)] == ["0:00", "0:05", "1:05"]
    assert [clock(seconds) for seconds in (3600, 36061)] == ["1:00:00", "10:01:01"]


def test_time_left_is_told_from_the_share_of_the_work(monkeypatch, capsys):
    now = iter([float(second) for second in range(100) for _ in range(2)])
    monkeypatch.setattr("toydepth.commands.progress_bar.time.monotonic", lambda: next(now))
    with progress(100, plain=True) as bar:
        for step in range(0, 60, 10):  # half of the steps are a tenth of the work
            bar.update(step, "rung 1/2", 0.5, share=step / 500)
    last = capsys.readouterr().err.splitlines()[-1]
    assert "10/s" in last and "0:45 left" in last
