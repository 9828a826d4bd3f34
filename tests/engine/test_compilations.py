"""The cache of compiled programs: bounded, whole, and shared by jobs side by side."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import jax, jax.numpy as np
from toydepth.engine.compilations import keep_compilations
keep_compilations()
assert jax.config.jax_compilation_cache_max_size == 32 * 2**20
for n in range(1, 6):
    print(float(jax.jit(lambda x: (np.sin(x) @ np.cos(x.T)).sum())(np.ones((n, 3)))))
"""


@pytest.fixture
def start(tmp_path):
    """start() starts a process that compiles into the cache; its words are its streams'."""
    known = {k: v for k, v in os.environ.items() if not k.startswith("JAX_COMPILATION_CACHE")}
    known |= {"XDG_CACHE_HOME": str(tmp_path), "NPROC": "1"}

    def call():
        words = [sys.executable, "-c", PROGRAM]
        pipe = subprocess.PIPE
        return subprocess.Popen(words, env=known, stdout=pipe, stderr=pipe, text=True)

    return call


def test_a_process_killed_in_mid_write_troubles_none_that_start_later(start, tmp_path):
    folder = tmp_path / "toydepth" / "compiled"
    first = start().communicate()
    assert first[1] == ""
    whole = {path.name: path.read_bytes() for path in folder.glob("*-cache")}
    # What JAX leaves then: part of an entry, and no time of its use.
    halved, absent = sorted(whole)[:2]
    (folder / halved).write_bytes(whole[halved][: len(whole[halved]) // 2])
    (folder / absent).unlink()
    for name in (halved, absent):
        (folder / name.replace("-cache", "-atime")).unlink()
    assert start().communicate() == first
    again = {path.name: path.read_bytes() for path in folder.glob("*-cache")}
    assert again.keys() == whole.keys() and len(again[halved]) > len(whole[halved]) // 2


def test_a_cache_of_the_user_s_keeps_all_it_has(tmp_path):
    code = f"""
import jax, jax.numpy as np
jax.config.update("jax_compilation_cache_dir", {str(tmp_path)!r})
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.jit(lambda x: np.sin(x) + 1)(np.ones(3))
from toydepth.engine import borrowed_devices
for _ in range(2):
    with borrowed_devices(1):
        assert jax.config.jax_compilation_cache_max_size == -1
        jax.jit(lambda x: np.cos(x) + 2)(np.ones(4))
"""
    known = {k: v for k, v in os.environ.items() if "_CACHE_" not in k}
    done = subprocess.run([sys.executable, "-c", code], env=known, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    left = {path.name for path in tmp_path.iterdir()}
    assert ".lockfile" not in left and sum("lambda" in name for name in left) == 2


@pytest.mark.slow
def test_jobs_side_by_side_share_the_cache_without_a_word(start):
    said = {tuple(process.communicate()) for process in [start() for _ in range(3)]}
    ((numbers, errors),) = said
    assert errors == "" and len(numbers.splitlines()) == 5
