-- Calls milkd as a plugin of Neovim would:
--
--   nvim --headless --clean -c 'luafile client.lua' +qa!
--
-- $MILKD_SOCKET is the daemon's, $CALLS a JSON list of [name, method, params…].  Prints what each
-- call came to, as JSON: {name: {"result": …} or {"error": what the user would see}}.

local said = {}
local channel = vim.fn.sockconnect('pipe', vim.env.MILKD_SOCKET, { rpc = 1 })

local function call(name, method, ...)
  local ok, answer = pcall(vim.rpcrequest, channel, method, ...)
  said[name] = ok and { result = answer } or { error = answer }
  return ok and answer or nil
end

for _, each in ipairs(vim.json.decode(vim.env.CALLS)) do
  call(unpack(each))
end

-- Lua's {} goes out as a list.
call('nothing', 'ping')
call('empty_table', 'ping', {})
call('empty_dict', 'ping', vim.empty_dict())
call('empty_map', 'record', { content = 'A fact without roles', roles = {} })
call('empty_for_required', 'record', {})

-- Text that is none goes out as text all the same, and so does a blob.
call('not_utf8', 'record', { content = 'a\255b' })
call('not_utf8_key', 'record', { ['a\255'] = 1 })
call('not_utf8_method', 'a\255')
call('surrogate', 'record', { content = 'a\237\160\128b' })
call('nul', 'record', { content = 'a\0b' })
vim.g.channel = channel
for name, script in pairs({
  blob = [[rpcrequest(channel, 'record', {'content': 0z00FF41})]],
  script = [[rpcrequest(channel, 'show', {'ref': 'ffffffff'})]],
}) do
  local ok, answer = pcall(vim.api.nvim_eval, script)
  said[name] = ok and { result = answer } or { error = answer }
end

-- A reply nested deeper than 31 levels would be the end of Neovim.
local function nest(levels)
  return levels > 1 and { nest(levels - 1) } or {}
end

local function levels(value)
  if type(value) ~= 'table' then
    return 0
  end
  return 1 + levels(value[1])
end

local function import(name, id, more)
  local percept = {
    scope = 'global', kind = 'percept', id = id, content = 'Imported as ' .. id, producer = 'user',
    w = 0.75, created_at = '2026-05-24T10:11:12Z', updated_at = '2026-05-24T10:11:12Z', more = more,
  }
  call(name, 'import', { records = { percept }, final = true })
end

import('as_deep_as_can_be', 'bbbb0000-0000-4000-8000-000000000001', nest(19))
import('too_deep', 'bbbb0000-0000-4000-8000-000000000002', nest(20))
import('much_too_deep', 'bbbb0000-0000-4000-8000-000000000002', nest(90))
local exported = call('exported', 'export') or { records = {} }
said.exported = nil
said.levels = vim.empty_dict()
for _, record in ipairs(exported.records) do
  if record.more then
    said.levels[record.id] = levels(record.more)
  end
end

-- Neovim has no handler for events and says so to the daemon; both go on.
call('subscribed', 'subscribe', { topics = { 'percepts' } })
for number = 1, 20 do
  call('watched', 'learn', { content = 'Fact number ' .. number .. ' of those told' })
end
vim.wait(100)
call('unsubscribed', 'unsubscribe', { topics = { 'percepts' } })
vim.rpcnotify(channel, 'cancel', 12345)
vim.rpcnotify(channel, 'no_such_notification', {})
call('still_there', 'ping')

io.stdout:write(vim.json.encode(said), '\n')
