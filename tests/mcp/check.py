"""The official MCP client against `cofferdam mcp`: each line printed is something found right.

Arguments: the transport (`stdio` or `http`), the mode (`legacy` or `auto`), what reaches the server
(its command, one word an argument, or its URL).
"""

import asyncio
import base64
import json
import os
import sys

import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
import httpx2

TRANSPORT, MODE = sys.argv[1:3]
TARGET = sys.argv[3:]


def server():
    if TRANSPORT == "stdio":
        return StdioServerParameters(command=TARGET[0], args=TARGET[1:], env=dict(os.environ))
    headers = {"Authorization": f"Bearer {TARGET[1]}"} if len(TARGET) > 1 else {}
    return streamable_http_client(TARGET[0], http_client=httpx2.AsyncClient(headers=headers, timeout=30))


def right(what):
    print(what, flush=True)


def same(result):
    """The text is the structured result, and neither is a failure."""
    assert not result.is_error, result
    assert json.loads(result.content[0].text) == result.structured_content, result
    return result.structured_content


def refused(result, code):
    assert result.is_error and result.content[0].text.startswith(f"{code}: "), result


async def listing(client):
    tools = (await client.list_tools()).tools
    names = [tool.name for tool in tools]
    assert names == sorted(names) and "file_read" in names, names
    assert names == [tool.name for tool in (await client.list_tools()).tools]
    for tool in tools:
        assert tool.input_schema["type"] == "object" and tool.output_schema["type"] == "object", tool
        assert tool.description and tool.annotations.open_world_hint is False, tool
    hints = {tool.name: tool.annotations for tool in tools}
    assert hints["file_read"].read_only_hint and not hints["file_read"].destructive_hint
    assert not hints["file_delete"].read_only_hint and hints["file_delete"].destructive_hint
    right("tools")


async def calls(client):
    content = base64.b64encode(b"hello\n" * 10).decode()
    written = await client.call_tool("file_write_bytes", {"path": "/shared/a.txt", "content_base64": content})
    assert same(written)["bytes_written"] == 60, written
    assert same(await client.call_tool("file_read", {"path": "/shared/a.txt"}))["content"].startswith("hello\n")
    right("calls")
    refused(await client.call_tool("file_read", {"path": "/vault/key"}), "path_denied")
    refused(await client.call_tool("file_read", {"path": "/shared/none"}), "not_found")
    refused(await client.call_tool("file_read", {"path": 3}), "invalid_arguments")
    refused(await client.call_tool("attachment_save", {"index": 0, "path": "/shared/b"}), "no_attachments")
    try:
        await client.call_tool("no_such_tool", {})
        raise AssertionError("it was called")
    except MCPError as error:
        assert error.code == -32602 and "unknown_tool" in error.message, error
    right("refusals")


async def attachments(client):
    blob = base64.b64encode(bytes(range(256)) * 100).decode()
    meta = {"cofferdam/attachments": [{"uri": "file:///x/a.bin", "mimeType": "image/png", "blob": blob}]}
    call = {"index": 0, "path": f"/shared/{TRANSPORT}-{MODE}.bin"}
    saved = same(await client.call_tool("attachment_save", call, meta=meta))
    assert saved["bytes_written"] == 25600, saved
    right("attachments")


async def progress(client):
    told = []

    async def tell(progress, total, message):
        told.append((progress, message))

    answer = await client.call_tool("file_list", {"path": "/shared"}, progress_callback=tell)
    same(answer)
    assert told and all(message for _, message in told), told
    assert [step for step, _ in told] == sorted({step for step, _ in told}), told
    right("progress")


async def beside(client):
    reads = [client.call_tool("file_read", {"path": "/shared/a.txt"}) for _ in range(20)]
    assert all(same(answer)["content"].startswith("hello") for answer in await asyncio.gather(*reads))
    right("side by side")


async def main():
    async with Client(server(), mode=MODE) as client:
        version = client.protocol_version
        assert (version >= "2026-07-28") == (MODE != "legacy"), version
        right("begins")
        await listing(client)
        await calls(client)
        await attachments(client)
        await progress(client)
        await beside(client)
    right("ends")


async def approvals():
    """A call that the policy wants a person to agree to: asked where the client can."""
    asked, answers = [], ["accept", "decline"]

    async def ask(context, params):
        asked.append(params.message)
        return types.ElicitResult(action=answers[len(asked) - 1], content={} if len(asked) == 1 else None)

    call = ("file_write_bytes", {"path": "/shared/a.txt", "content_base64": "aGk=", "overwrite": True})
    async with Client(server(), mode=MODE) as client:
        refused(await client.call_tool(*call), "approval_required")
    async with Client(server(), mode=MODE, elicitation_callback=ask) as client:
        assert same(await client.call_tool(*call))["bytes_written"] == 2
        refused(await client.call_tool(*call), "approval_denied")
    assert len(asked) == 2 and "/shared/a.txt" in asked[0], asked
    right("approvals")


asyncio.run(approvals() if os.environ.get("APPROVALS") else main())
