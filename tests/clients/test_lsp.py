"""`codegrep serve --lsp` under pytest-lsp, which holds each message against the specification,
with the capabilities that real editors declare."""

import pathlib
import tempfile

import pytest
import pytest_lsp
from conftest import binary, environment
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

EDITORS = ["neovim", "visual_studio_code", "emacs"]
HOME = tempfile.TemporaryDirectory()
SERVER = ClientServerConfig(
    server_command=[binary(), "serve", "--lsp", "--model", "none"],
    server_env=environment(pathlib.Path(HOME.name)),
)


@pytest_lsp.fixture(params=EDITORS, config=SERVER)
async def editor(request, lsp_client: LanguageClient, tmp_path_factory):
    root = tmp_path_factory.mktemp("shop")
    (root / ".git").mkdir()
    (root / "cart.py").write_text("def total_price(items):\n    return sum(items)\n")
    (root / "mail.py").write_text("def send(): pass\n")
    lsp_client.root = root
    lsp_client.set_configuration({"codegrep": {"gate": "off"}})
    await lsp_client.initialize_session(
        types.InitializeParams(
            capabilities=client_capabilities(request.param),
            workspace_folders=[types.WorkspaceFolder(uri=root.as_uri(), name="shop")],
        )
    )
    yield
    await lsp_client.shutdown_session()


async def find(client: LanguageClient, *arguments, **more):
    params = types.ExecuteCommandParams(command="codegrep.find", arguments=list(arguments), **more)
    return await client.workspace_execute_command_async(params)


def as_dict(value):
    return value if isinstance(value, dict) else value._asdict()


@pytest.mark.asyncio
async def test_find_with_progress(editor: LanguageClient):
    client = editor
    token = "find-1"
    answer = await find(client, "total_price is wrong", {"gate": "off"}, work_done_token=token)
    files = as_dict(answer)["files"]
    assert as_dict(files[0])["path"] == "cart.py"
    kinds = [value.kind for value in client.progress_reports[token]]
    assert kinds[0] == "begin" and kinds[-1] == "end", kinds


@pytest.mark.asyncio
async def test_unsaved_text_and_symbols(editor: LanguageClient):
    client = editor
    uri = (client.root / "mail.py").as_uri()
    client.text_document_did_open(
        types.DidOpenTextDocumentParams(
            types.TextDocumentItem(
                uri=uri, language_id="python", version=1, text="def send(): pass\n"
            )
        )
    )
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(version=2, uri=uri),
            [types.TextDocumentContentChangeWholeDocument("def newest_postage(): pass\n")],
        )
    )
    found = await client.workspace_symbol_async(types.WorkspaceSymbolParams("postage"))
    assert [(symbol.name, symbol.location.uri) for symbol in found] == [("newest_postage", uri)]


@pytest.mark.asyncio
async def test_an_action_for_a_diagnostic(editor: LanguageClient):
    client = editor
    start, end = types.Position(0, 0), types.Position(0, 3)
    diagnostic = types.Diagnostic(types.Range(start, end), "total_price takes no list")
    actions = await client.text_document_code_action_async(
        types.CodeActionParams(
            types.TextDocumentIdentifier((client.root / "cart.py").as_uri()),
            types.Range(start, start),
            types.CodeActionContext([diagnostic]),
        )
    )
    assert [action.title for action in actions] == ["CodeGrep: find files for this diagnostic"]


@pytest.mark.asyncio
async def test_errors_are_errors(editor: LanguageClient):
    with pytest.raises(Exception, match="the task text is empty"):
        await find(editor, " ")
