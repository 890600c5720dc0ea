-- Asks CodeGrep from inside Neovim and writes what it saw as JSON to $RESULT.
local seen = { progress = {} }

local function finish(fault)
  seen.fault = fault
  vim.fn.writefile({ vim.json.encode(seen) }, vim.env.RESULT)
  vim.cmd(fault and 'cquit' or 'qall!')
end

vim.lsp.handlers['$/progress'] = function(_, params)
  table.insert(seen.progress, params.value.kind)
end

local ok, fault = pcall(function()
  vim.cmd.edit('mail.py')
  local id = vim.lsp.start({
    name = 'codegrep',
    cmd = { vim.env.CODEGREP_BIN, 'serve', '--lsp', '--model', 'none' },
    root_dir = vim.fn.getcwd(),
    -- A change is sent at once.
    flags = { debounce_text_changes = 0 },
    settings = { codegrep = { gate = 'off' } },
  })
  local client = assert(vim.lsp.get_client_by_id(id), 'no client')
  assert(vim.wait(20000, function() return client.initialized end), 'not initialized')
  local attached = function() return vim.lsp.buf_is_attached(0, id) end
  assert(vim.wait(20000, attached), 'not attached')
  -- Changed in the buffer only.
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'def newest_postage(): pass' })
  local found = client:request_sync('workspace/executeCommand', {
    command = 'codegrep.find',
    arguments = { 'newest_postage', { gate = 'off' } },
    workDoneToken = 'n1',
  }, 20000, 0)
  assert(not found.err and #found.result.files > 0, vim.inspect(found))
  seen.best = found.result.files[1].path
  local symbols = client:request_sync('workspace/symbol', { query = 'price' }, 20000, 0)
  assert(not symbols.err and #symbols.result > 0, vim.inspect(symbols))
  seen.symbol = symbols.result[1].name
  client:stop()
end)
finish(not ok and fault or nil)
