"""`codegrep serve --mcp` under the official Python client, which checks every structured result
against the tool's output schema."""

import asyncio
import contextlib
import pathlib

import mcp
import pytest
from conftest import binary, environment
from mcp import types
from mcp.client.stdio import stdio_client


@contextlib.asynccontextmanager
async def session(shop: pathlib.Path, roots: list[pathlib.Path] | None = None):
    async def list_roots(_context):
        return types.ListRootsResult(roots=[types.Root(uri=root.as_uri()) for root in roots])

    server = mcp.StdioServerParameters(
        command=binary(),
        args=["serve", "--mcp", "--model", "none"],
        cwd=str(shop),
        env=environment(shop.parent / "home"),
    )
    async with stdio_client(server) as (read, write):
        callback = list_roots if roots is not None else None
        async with mcp.ClientSession(read, write, list_roots_callback=callback) as client:
            hello = await client.initialize()
            assert hello.server_info.name == "codegrep"
            assert hello.protocol_version == "2025-11-25"
            yield client


def text(result: types.CallToolResult) -> str:
    return result.content[0].text


@pytest.mark.asyncio
async def test_every_tool(shop):
    async with session(shop) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == ["find_files", "grep", "glob", "read"]
        assert all(tool.description and tool.annotations.read_only_hint for tool in tools)
        stages = []

        async def progress(done, _total, message):
            stages.append((done, message))

        found = await client.call_tool(
            "find_files", {"text": "total_price is wrong"}, progress_callback=progress
        )
        assert not found.is_error, text(found)
        assert found.structured_content["files"][0]["path"] == "cart.py"
        assert stages and stages == sorted(stages)
        lines = await client.call_tool("grep", {"pattern": "^def", "path": "cart.py"})
        assert text(lines) == "cart.py:1: def total_price(items):\n"
        files = await client.call_tool("glob", {"pattern": "*.py"})
        assert text(files) == "cart.py\nmail.py\n"
        read = await client.call_tool("read", {"path": str(shop / "cart.py"), "firstLine": 2})
        assert text(read) == "2\t    return sum(items)\n"


@pytest.mark.asyncio
async def test_failures_are_told_and_survived(shop):
    async with session(shop) as client:
        outside = await client.call_tool("read", {"path": "/etc/passwd"})
        assert outside.is_error and "hint: " in text(outside)
        with pytest.raises(mcp.MCPError):
            await client.call_tool("no_such_tool", {})
        many = [client.call_tool("grep", {"pattern": "def"}) for _ in range(50)]
        for result in await asyncio.gather(*many):
            assert text(result).count("\n") == 2


@pytest.mark.asyncio
async def test_the_clients_roots(shop, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "parcel.py").write_text("def weigh(): pass\n")
    async with session(shop, [other]) as client:
        files = await client.call_tool("glob", {"pattern": "**/*.py"})
        assert text(files) == "parcel.py\n"


@pytest.mark.asyncio
async def test_the_high_level_client_whichever_version_it_prefers(shop):
    server = mcp.StdioServerParameters(
        command=binary(),
        args=["serve", "--mcp", "--model", "none"],
        cwd=str(shop),
        env=environment(shop.parent / "home"),
    )
    async with mcp.Client(stdio_client(server)) as client:
        result = await client.call_tool("glob", {"pattern": "*.py"})
        assert text(result) == "cart.py\nmail.py\n"
