"""report.html as text: what it holds, in which order, and what it must not."""

import json
import os
import re
from html.parser import HTMLParser

import pytest

from toydepth.report.page import Found, page
from toydepth.report.report_command import build_report
from toydepth.results.records import read_record
from toydepth.results.report_record import ReportRecord

HOSTILE = "</script><script>alert(1)</script> \"quoted\" 'é深さ' \u2028 <b>&amp;"
FREE = {"br", "hr", "img", "input", "link", "meta", "rect", "line", "path"}  # need no end


class Reader(HTMLParser):
    """The tags, and all text outside of scripts and styles."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.words, self.open = [], [], []
        self.scripts = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in FREE:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        if tag not in FREE:
            assert self.open.pop() == tag, (tag, self.getpos())

    def handle_data(self, data):
        if self.open[-1:] == ["script"]:
            self.scripts[-1] += data
        elif self.open[-1:] != ["style"]:
            self.words.append(data)

    def text(self):
        return " ".join(" ".join(self.words).split())

    def named(self, name):
        return [attrs for tag, attrs in self.tags if tag == name]


def written(folder, *folders):
    report = build_report(folders or [folder], folder).record
    assert report.page == "report.html" and not any("html" in n for n in report.notes)
    return report, (folder / "report.html").read_text(encoding="utf-8")


@pytest.fixture
def two(tmp_path, write_run):
    write_run(tmp_path / "a", "shared")
    write_run(tmp_path / "b", "independent")
    return tmp_path


def test_a_page_from_top_to_bottom(two):
    report, html = written(two)
    read = Reader(html)
    assert read.open == []
    text = read.text()
    order = ["How does loss fall with depth?", "α =", "95 %:", "Loss against depth",
             "Press a heading to sort", "Losses by depth", "Local exponents",
             "Alpha against training", "Training curves", "What is set differently",
             "All other settings are the same", "Run it again",
             "python -m toydepth.train teacher=shared"]  # fmt: skip
    places = [text.index(words) for words in order]
    assert places == sorted(places)
    for regime in report.regimes:
        assert regime.verdict in text and f"{regime.alpha.value:.2f}" in text
        assert f"{regime.alpha.low:.2f} to {regime.alpha.high:.2f}" in text
    assert text.count("⚠ warning:") == 4  # of each regime, in its card and in the table
    assert (
        "teacher.kind shared independent" in text and "optimizer.learning_rate shared" not in text
    )
    assert "Alpha against temperature" not in text and "Geometry" not in text


def test_it_is_one_file_that_asks_for_nothing(two):
    _, html = written(two)
    assert len(html.encode()) < 6_000_000
    read = Reader(html)
    for _, attrs in read.tags:
        assert not {"srcset", "action"} & set(attrs)
        assert attrs.get("src", "data:").startswith("data:")
        assert re.match("#|data:", attrs.get("href", "#"))
    (policy,) = [m["content"] for m in read.named("meta") if "http-equiv" in m]
    assert policy.startswith("default-src 'none'") and "http" not in policy
    own = html.replace(read.scripts[1], "")  # Plotly names addresses that it is not asked to use
    assert "://" not in own.replace("http://www.w3.org/2000/svg", "")
    assert "@import" not in own and "url(" not in own


def test_names_are_text(tmp_path, write_run):
    write_run(tmp_path / "a<i>", "shared", **{"student.note": HOSTILE})
    write_run(tmp_path / "b", "shared", **{"student.note": "plain"})
    (tmp_path / "<img src=x onerror=alert(1)>" / ".hydra").mkdir(parents=True)
    _, html = written(tmp_path)
    read = Reader(html)
    assert read.open == [] and len(read.scripts) == 3
    assert [attrs["class"] for attrs in read.named("img")] == ["still"] and not read.named("i")
    assert " ".join(HOSTILE.split()) in read.text()
    assert "<img src=x onerror=alert(1)>" in read.text()
    said = [attrs["aria-label"] for attrs in read.named("div") if "data-plot" in attrs]
    assert HOSTILE in said[0]
    plots = json.loads(read.scripts[0])
    labels = [entry["label"] for entry in plots[0]["legend"]]
    assert any(HOSTILE in label for label in labels)  # the legend is made of text
    names = [trace["name"] for trace in plots[0]["traces"]]
    assert not any("<" in name for name in names)  # Plotly's own texts are not
    assert "\u2028" not in read.scripts[0]


def test_the_table_can_be_sorted_by_keyboard_and_values(two):
    read = Reader(written(two)[1])
    sortable = [attrs for attrs in read.named("th") if "aria-sort" in attrs]
    assert len(sortable) == 7 and {attrs["scope"] for attrs in sortable} == {"col"}
    buttons = [attrs for attrs in read.named("button") if "data-sort" in attrs]
    assert [attrs["data-sort"] for attrs in buttons][:3] == ["text", "number", "number"]
    cells = [attrs["data-value"] for attrs in read.named("td") if "data-value" in attrs]
    assert len(cells) == 2 * 5 and all(float(cell) > 0 for cell in cells)


def test_every_plot_has_its_words(two):
    read = Reader(written(two)[1])
    plots = json.loads(read.scripts[0])
    labels = {a["data-plot"]: a["aria-label"] for a in read.named("div") if "data-plot" in a}
    assert [plot["key"] for plot in plots] == list(labels)
    assert all(plot["words"] in labels[plot["key"]] for plot in plots)
    main = plots[0]
    assert main["layout"]["xaxis"]["type"] == main["layout"]["yaxis"]["type"] == "log"
    fills = [trace for trace in main["traces"] if trace.get("fill") == "toself"]
    lines = [t for t in main["traces"] if t["mode"] == "lines" and t["name"] and "fill" not in t]
    assert len(fills) == len(lines) == 2
    assert len({line["line"]["dash"] for line in lines}) == 2
    points = [trace for trace in main["traces"] if trace["mode"] == "markers"]
    assert points[0]["marker"]["symbol"] == ["circle"] * 3 + ["circle-open"]  # not converged


def test_alpha_against_temperature(tmp_path, write_run):
    for heat in (0.1, 1.0, 10.0):
        write_run(tmp_path / f"{heat}", "shared", temperature=heat)
    report, html = written(tmp_path)
    (plot,) = [p for p in json.loads(Reader(html).scripts[0]) if p["key"] == "temperature"]
    (trace,) = plot["traces"]
    assert trace["x"] == [0.1, 1.0, 10.0]
    alphas = [regime.alpha.value for regime in report.regimes]
    assert trace["y"] == pytest.approx(alphas, rel=1e-4)
    assert "target.temperature" in html


def test_what_has_not_finished_is_said(tmp_path, write_run):
    path = write_run(tmp_path / "a") / "result.json"
    bad = {"status": "failed", "error": "out of memory", "rungs": []}
    (tmp_path / "b").mkdir()
    (tmp_path / "b/result.json").write_text(json.dumps(json.loads(path.read_text()) | bad))
    text = Reader(written(tmp_path)[1]).text()
    assert "unfinished: b : failed: out of memory" in text
    (tmp_path / "a/result.json").unlink()
    read = Reader(written(tmp_path)[1])
    assert "No run has finished" in read.text() and "Loss against depth" not in read.text()


@pytest.mark.parametrize("loss", [0.0, -1e-9])
def test_a_loss_without_a_logarithm_is_left_out(tmp_path, write_run, loss):
    """A KL that has been rounded may be below zero."""
    path = write_run(tmp_path / "a", temperature=1.0) / "result.json"
    result = json.loads(path.read_text())
    result["rungs"][3] |= {"loss": loss, "loss_as_trained": 1e-3}
    path.write_text(json.dumps(result))
    report, html = written(tmp_path)
    assert any(note.endswith(f"is left out: its loss is {loss}") for note in report.notes)
    main = json.loads(Reader(html).scripts[0])[0]
    (rungs,) = [trace for trace in main["traces"] if trace["mode"] == "markers"]
    assert rungs["x"] == [3, 6, 12] == list(report.regimes[0].sizes)


def test_a_folder_whose_name_is_no_text(tmp_path, write_run):
    write_run(tmp_path / "a")
    name = os.fsdecode(b"u\xff")
    (tmp_path / name / ".hydra").mkdir(parents=True)
    report, html = written(tmp_path)
    assert [job.folder for job in report.unfinished] == [name]
    assert r"unfinished: u\udcff : no result.json" in Reader(html).text()


def test_two_hundred_regimes(many_regimes):
    report = ReportRecord(regimes=many_regimes(200), notes=["a note"] * 300)
    html = page(report)
    assert len(html.encode()) < 6_000_000
    read = Reader(html)
    assert "200 regimes. Press" in read.text()
    assert "40 of 200 regimes are drawn" in read.text()
    assert "And 100 more, in report.json." in read.text()
    plots = {plot["key"]: plot for plot in json.loads(read.scripts[0])}
    assert {entry["group"] for entry in plots["losses"]["legend"]} == {"shared", "independent"}
    assert len(plots["losses"]["legend"]) == 40


def test_the_contents_of_report_json_are_enough(two):
    build_report([two])
    report = read_record(two / "report.json", ReportRecord, "report")
    text = Reader(page(report, found=Found())).text()
    assert "Loss against depth" in text and "Run it again" not in text


def test_a_page_that_cannot_be_made_is_a_note(two, monkeypatch):
    def broken(*_):
        raise RuntimeError("no room " * 1000)  # as an error that quotes what it failed on

    monkeypatch.setattr("toydepth.report.page.page", broken)
    report = build_report([two]).record
    assert report.page is None and not (two / "report.html").exists()
    (note,) = [note for note in report.notes if "html" in note]
    assert note.startswith("report.html is left out: RuntimeError: no room") and len(note) < 250
    assert json.loads((two / "report.json").read_text())["notes"] == list(report.notes)
