"""What a multirun says of its place."""

import os

from toydepth.standing import Standing


def test_only_what_ended_since_the_start_counts_and_sets_the_pace(tmp_path, monkeypatch):
    folders = [tmp_path / str(number) for number in range(4)]
    standing = Standing(folders, "result.json", started=1000.0, before=2)
    monkeypatch.setattr("time.time", lambda: 1120.0)
    assert standing.words() == "2 of 6 jobs"
    for number, (name, time) in enumerate(
        [("result.json", 1060), ("error.txt", 1110), ("result.json", 900)]  # of an earlier try
    ):
        folders[number].mkdir()
        (folders[number] / name).touch()
        os.utime(folders[number] / name, (time, time))
    assert standing.words() == "4 of 6 jobs, about 2:00 left"  # two in two minutes, two to go
    for number in (2, 3):
        folders[number].mkdir(exist_ok=True)
        (folders[number] / "result.json").touch()
        os.utime(folders[number] / "result.json", (1119, 1119))
    assert standing.words() == "6 of 6 jobs"
