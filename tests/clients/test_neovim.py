"""`codegrep serve --lsp` under a real Neovim, headless and without anybody's settings."""

import json
import pathlib
import subprocess
import sys

from conftest import binary, environment


def test_neovim_finds_files_sees_its_buffer_and_lists_symbols(shop):
    script = pathlib.Path(__file__).with_name("neovim.lua")
    result = shop.parent / "result.json"
    nvim = pathlib.Path(sys.executable).with_name("nvim")
    more = {"RESULT": str(result), "CODEGREP_BIN": binary()}
    command = [nvim, "--headless", "-u", "NONE", "-i", "NONE", "-n", "-c", f"luafile {script}"]
    run = subprocess.run(
        command,
        cwd=shop,
        env=environment(shop.parent / "home") | more,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert result.exists(), run
    seen = json.loads(result.read_text())
    assert "fault" not in seen, seen
    assert (seen["best"], seen["symbol"]) == ("mail.py", "total_price"), seen
    assert seen["progress"][0] == "begin" and seen["progress"][-1] == "end", seen
