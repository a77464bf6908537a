-- The ledger's operations. One call of main (at the end) executes one batch of them, atomically, on one bucket. All
-- keys of a bucket begin with KEYS[1], which has the hash tag, so that they are in one hash slot.
-- docs/design/valkey.md says which keys there are. Money is exact: two limbs of whole USD and nano-USD, each far
-- below 2^53, outside decimal text. Replicas of two versions run side by side during an upgrade: names, arguments,
-- replies and key formats are a contract. The file is loaded as a library of functions or run as a script. In a
-- library these variables outlive a batch, so main sets them for each. A batch is one argument and one reply:
-- arguments end with \0, replies with \30.
local base, head, now, today, thisMonth, changes, epoch, refilling, call
local DAY_MS = 86400000
local INSTANCE_MS = 86400000
local DEDUP_MS = 3600000
local SKEW_MS = 600000
local SLOT_KEY_MS = 600000
local SEEN_AGAIN_MS = 5000
local JOURNAL_MS = 300000
local CHANGES_PER_MS = 1000
local TRIM_AT_ONCE = 4

local function whole(number) return string.format('%d', number) end

-- Money --------------------------------------------------------------------------------------------------------------
local LIMB = 1000000000
local ZERO = { 0, 0 }
local MAX = { 9223372036, 854775807 }

local function add(a, b)
  local high, low = a[1] + b[1], a[2] + b[2]
  if low >= LIMB then return { high + 1, low - LIMB } end
  return { high, low }
end
local function sub(a, b)
  local high, low = a[1] - b[1], a[2] - b[2]
  if low < 0 then return { high - 1, low + LIMB } end
  return { high, low }
end
local function less(a, b) return a[1] < b[1] or (a[1] == b[1] and a[2] < b[2]) end
local function least(a, b) if less(b, a) then return b end return a end
local function notNegative(a) if a[1] < 0 then return ZERO end return a end
-- The two limbs of an amount.
local function limbs(text)
  -- far below 2^53, so that the quotient is never rounded up to the next whole number
  if #text <= 15 then
    local nano = tonumber(text)
    local low = nano % LIMB
    return (nano - low) / LIMB, low
  end
  local high, low = tonumber(string.sub(text, 1, -10)), tonumber(string.sub(text, -9))
  if string.byte(text) ~= 45 or low == 0 then return high, low end
  return high - 1, LIMB - low
end
-- The text of limbs that are not negative. Below 2^53 they are one number.
local function decimal(high, low)
  if high < 9000000 then return string.format('%d', high * LIMB + low) end
  return string.format('%d%09d', high, low)
end
local function digits(a) return decimal(a[1], a[2]) end
local function money(text)
  if not text or text == '' then return ZERO end
  return { limbs(text) }
end

-- Values -------------------------------------------------------------------------------------------------------------
-- Balances and calls are read and written once per batch: `known` is as in the store, `changed` as after the operations
-- so far, `staged` what the current operation changes, dropped if it fails. `lives` has the lifetime (ms) of values
-- that expire; balances and holds never do.
local known, changed, staged, lives
-- Sets of calls that the batch changes: by instance, and by slot. `minutes`: what it reads and changes of these.
local lists, slots, minutes

local function get(name)
  local text = staged[name] or changed[name] or known[name]
  if text == nil then
    text = call('GET', name)
    known[name] = text
  end
  return text
end
-- Reads values with one command.
local function fetch(names)
  if #names == 0 then return end
  local texts = call('MGET', unpack(names))
  for i = 1, #names do known[names[i]] = texts[i] end
end
local function put(name, text) staged[name] = text end
local function commit()
  if not next(staged) then return end
  for name, text in pairs(staged) do changed[name] = text end
  staged = {}
end
local function write()
  local plain, count = {}, 0
  for name, text in pairs(changed) do
    if lives[text] then call('SET', name, text, 'PX', lives[text])
    else
      plain[count + 1], plain[count + 2] = name, text
      count = count + 2
    end
  end
  if count > 0 then call('MSET', unpack(plain)) end
end

-- Balances -----------------------------------------------------------------------------------------------------------
local function dayOf(ms) return math.floor(ms / DAY_MS) end
-- Months since year 0, from days since 1970 (the civil-from-days algorithm, with years that begin in March).
local function monthOf(ms)
  local shifted = dayOf(ms) + 719468
  local era = math.floor(shifted / 146097)
  local dayOfEra = shifted - era * 146097
  local leapDays = math.floor(dayOfEra / 1460) - math.floor(dayOfEra / 36524) + math.floor(dayOfEra / 146096)
  local yearOfEra = math.floor((dayOfEra - leapDays) / 365)
  local dayOfYear = dayOfEra - (365 * yearOfEra + math.floor(yearOfEra / 4) - math.floor(yearOfEra / 100))
  local march = math.floor((5 * dayOfYear + 2) / 153)
  local month = march < 10 and march + 2 or march - 10
  return (yearOfEra + era * 400 + (month <= 1 and 1 or 0)) * 12 + month
end

local function window(kind, index, spent, held, calls)
  return { kind = kind, index = index, spent = spent or ZERO, held = held or ZERO, calls = calls or 0 }
end
local function trimPast(key)
  table.sort(key.past, function(a, b) return a.index > b.index end)
  local kept, result = { d = 0, m = 0 }, {}
  for _, w in ipairs(key.past) do
    if w.calls <= 0 then kept[w.kind] = kept[w.kind] + 1 end
    if w.calls > 0 or kept[w.kind] <= 2 then result[#result + 1] = w end
  end
  key.past = result
end

-- Limits as last seen, and when. A generation that nobody has presented for a while does not count, so that an object
-- that was deleted and created again is not refused for ever. They are packed behind the balance that they belong to.
local SEEN = '<c1BdddBc0'
local UNSEEN = '-'

local function readSeen(text, at)
  if string.sub(text, at, at) == UNSEEN then return nil, at + 1 end
  local period, unlimited, high, low, ms, generation, next = struct.unpack(SEEN, text, at)
  return { generation = generation, limit = unlimited == 0 and { high, low } or nil, period = period, ms = ms }, next
end
local function writeSeen(seen)
  if not seen then return UNSEEN end
  local limit = seen.limit or ZERO
  return struct.pack(SEEN, seen.period, seen.limit and 0 or 1, limit[1], limit[2], seen.ms, #seen.generation,
    seen.generation)
end

-- A key's balance, packed: day and month (index, spent, held, calls), spent and held in total, last use, change
-- number of the last refill, limits as last seen, past windows.
local KEY = '<I4ddddI4I4ddddI4dddddd'
local PAST = '<c1I4ddddI4'

local function loadKey(uid)
  local name = base .. 'k:' .. uid
  local text = get(name)
  if not text then
    return { name = name, d = window('d', today), m = window('m', thisMonth), total = { spent = ZERO, held = ZERO },
      past = {}, last = 0, refilled = -1 }
  end
  local di, ds, dsl, dh, dhl, dc, mi, ms, msl, mh, mhl, mc, ts, tsl, th, thl, last, refilled, at =
    struct.unpack(KEY, text)
  local key = {
    name = name, known = true,
    d = window('d', di, { ds, dsl }, { dh, dhl }, dc), m = window('m', mi, { ms, msl }, { mh, mhl }, mc),
    total = { spent = { ts, tsl }, held = { th, thl } }, past = {}, last = last, refilled = refilled,
  }
  key.seen, at = readSeen(text, at)
  while at <= #text do
    local kind, index, s, sl, h, hl, calls
    kind, index, s, sl, h, hl, calls, at = struct.unpack(PAST, text, at)
    key.past[#key.past + 1] = window(kind, index, { s, sl }, { h, hl }, calls)
  end
  return key
end

local function findWindow(key, kind, index)
  if key[kind].index == index then return key[kind] end
  for _, w in ipairs(key.past) do if w.kind == kind and w.index == index then return w end end
  return nil
end
local function openWindow(key, kind, index)
  local found = findWindow(key, kind, index)
  if found then return found end
  found = window(kind, index)
  key.past[#key.past + 1] = found
  return found
end
-- Makes the window with this index the current one.
local function turn(key, kind, index)
  if key[kind].index == index then return end
  local found, past = nil, { key[kind] }
  for _, w in ipairs(key.past) do
    if w.kind == kind and w.index == index then found = w else past[#past + 1] = w end
  end
  key[kind], key.past = found or window(kind, index), past
end

local function saveKey(key)
  local d, m, t, past = key.d, key.m, key.total, ''
  if #key.past > 0 then
    trimPast(key)
    for _, w in ipairs(key.past) do
      past = past .. struct.pack(PAST, w.kind, w.index, w.spent[1], w.spent[2], w.held[1], w.held[2], w.calls)
    end
  end
  put(key.name, struct.pack(KEY, d.index, d.spent[1], d.spent[2], d.held[1], d.held[2], d.calls, m.index, m.spent[1],
    m.spent[2], m.held[1], m.held[2], m.calls,
    t.spent[1], t.spent[2], t.held[1], t.held[2], key.last, key.refilled) .. writeSeen(key.seen) .. past)
end

-- An account's balance, packed: spent, held, change number of the last refill, limits as last seen.
local ACCOUNT = '<ddddd'

local function loadAccount(id)
  local name = base .. 'a:' .. id
  local text = get(name)
  if not text then return { id = id, name = name, spent = ZERO, held = ZERO, refilled = -1 } end
  local s, sl, h, hl, refilled, at = struct.unpack(ACCOUNT, text)
  return { id = id, name = name, known = true, spent = { s, sl }, held = { h, hl }, refilled = refilled,
    seen = (readSeen(text, at)) }
end
local function saveAccount(account)
  local spent, held = account.spent, account.held
  put(account.name, struct.pack(ACCOUNT, spent[1], spent[2], held[1], held[2], account.refilled)
    .. writeSeen(account.seen))
  if not account.known then
    call('SADD', base .. 'accounts', account.id)
    account.known = true
  end
end

local function tallyOf(key, period, day, month)
  if period == 'D' then return day end
  if period == 'M' then return month end
  return key.total
end
-- nil: unlimited.
local function limitOf(text) if text ~= '-' then return money(text) end end
-- What is free under a limit; negative where more is spent and held than it allows.
local function under(limit, tally)
  if not limit then return MAX end
  return sub(sub(limit, tally.spent), tally.held)
end

local function isOlder(generation, seen)
  if not seen or now - seen.ms > head.generationMs then return false end
  local other = seen.generation
  return #generation < #other or (#generation == #other and generation < other)
end
local function sameAmount(a, b) return a == b or (a and b and a[1] == b[1] and a[2] == b[2]) end
local function sameLimit(seen, limit, period) return seen.period == period and sameAmount(seen.limit, limit) end
-- Processes that read manifests from files count generations for themselves (lenient): an older generation with the
-- same limits is not stale there.
local function isStale(generation, seen, limit, period)
  return isOlder(generation, seen) and not (head.lenient and sameLimit(seen, limit, period))
end
-- The limits to remember: the same table where nothing is new, so that the balance is not written for it.
local function seeing(seen, generation, limit, period)
  if seen and isOlder(generation, seen) then return seen end
  local same = seen and seen.generation == generation and sameLimit(seen, limit, period)
  if same and now >= seen.ms and now - seen.ms <= SEEN_AGAIN_MS then return seen end
  return { generation = generation, limit = limit, period = period, ms = now }
end

-- What is free beyond a call's hold: under the limits that it was admitted with, and under later ones.
local function freeFor(hold, key, account, day, month)
  local free = least(under(hold.L, tallyOf(key, hold.P, day, month)), under(hold.C, account))
  if key.seen then free = least(free, under(key.seen.limit, tallyOf(key, key.seen.period, day, month))) end
  if account.seen then free = least(free, under(account.seen.limit, account)) end
  return free
end

local function move(what, field, amount, back)
  what[field] = back and sub(what[field], amount) or add(what[field], amount)
end
local function moveAll(tallies, field, amount, back)
  local moved = back and sub or add
  for i = 1, #tallies do
    local tally = tallies[i]
    tally[field] = moved(tally[field], amount)
  end
end
-- A store that was refilled may have less than what was spent, so it is never more than all.
local function giveBack(tallies, amount)
  for _, tally in ipairs(tallies) do tally.spent = notNegative(sub(tally.spent, amount)) end
end

-- Calls and records --------------------------------------------------------------------------------------------------
-- A call is one value, whose first letter is its state. H: it runs, followed by its hold. S: settled, the pointer to
-- its record. R: reaped, both of these, since its process may still settle it. W: withdrawn; a later hold is refused.
-- W with a hold: the reaper found it unconfirmed and dropped it; it holds nothing, and its process may still settle it.
local HOLD_TO_ROUTE = '<ddddBddc1I4I4ddI2c0I2c0I2c0I2c0I2c0'
local HOLD = HOLD_TO_ROUTE .. 'I2c0'
-- The letter H; the format of key and account in a hold, and their position.
local HELD = 72
local WHOSE, WHOSE_AT = '<I2c0I2c0', 76

-- a: amount held, L: the key's limit (nil: none), C: the account's credit, P: quota period, d and m: day and month
-- indexes, t: admitted at, r: progress recorded at, k: key, A: account, I: instance, c: cost so far, o: route, p:
-- tokens so far.
local function readHold(text, at)
  local ah, al, lh, ll, unlimited, ch, cl, P, d, m, t, r, k, A, I, c, o, p = struct.unpack(HOLD, text, at)
  return { a = { ah, al }, L = unlimited == 0 and { lh, ll } or nil, C = { ch, cl }, P = P, d = d, m = m, t = t, r = r,
    k = k, A = A, I = I, c = c, o = o, p = p }
end
local function packHold(h)
  local a, L, C = h.a, h.L or ZERO, h.C
  return struct.pack(HOLD, a[1], a[2], L[1], L[2], h.L and 0 or 1, C[1], C[2], h.P, h.d, h.m, h.t, h.r, #h.k, h.k,
    #h.A, h.A, #h.I, h.I, #h.c, h.c, #h.o, h.o, #h.p, h.p)
end
-- A call's state (a letter, or nil), its hold, and the pointer to its record.
local function loadCall(id)
  local text = get(base .. 'c:' .. id)
  if not text then return nil end
  local state = string.sub(text, 1, 1)
  if state == 'H' then return state, readHold(text, 2), nil end
  if state == 'S' then return state, nil, string.sub(text, 2) end
  if state == 'R' then
    local pointer, at = struct.unpack('<I2c0', text, 2)
    return state, readHold(text, at), pointer
  end
  if #text > 1 then return state, readHold(text, 2), nil end
  return state
end
local function saveHold(id, hold) put(base .. 'c:' .. id, 'H' .. packHold(hold)) end

local RECORD = { 'i', 'k', 't', 'o', 'p', 'c', 'u', 's', 'd', 'ks', 'kr' }

-- How many entries the batch has appended to each stream.
local grown

local function forgetOldRecords(stream, entries)
  local left = call('XLEN', stream) - head.records
  if left <= 0 then return end
  local time = call('TIME')
  local before = whole(tonumber(time[1]) * 1000 - DEDUP_MS)
  for _, entry in ipairs(call('XRANGE', stream, '-', before, 'COUNT', math.min(left, TRIM_AT_ONCE * entries))) do
    call('DEL', base .. 'c:' .. string.match(entry[2][2], '^[^\t]*'))
    call('XDEL', stream, entry[1])
  end
end

-- Returns the pointer to the new record. `mark`: the number of the change that billed it, and its day and month.
local function append(account, text, mark)
  local stream = base .. 's:' .. account
  local id = call('XADD', stream, '*', 'r', text, 'n', mark)
  grown[stream] = (grown[stream] or 0) + 1
  return id .. '|' .. account
end

-- Appends a call's record. `hold` is given for a call that is reaped.
local function writeRecord(account, record, hold)
  local fields = {}
  for i, name in ipairs(RECORD) do fields[i] = record[name] end
  local pointer = append(account, table.concat(fields, '\t'), record.mark or '')
  local state = hold and 'R' .. struct.pack('<I2c0', #pointer, pointer) .. packHold(hold) or 'S' .. pointer
  lives[state] = head.keepMs
  put(base .. 'c:' .. record.i, state)
end

-- The record at a pointer; nil: it is forgotten.
local function readRecord(pointer)
  local id, account = string.match(pointer, '^([^|]+)|(.*)$')
  local found = call('XRANGE', base .. 's:' .. account, id, id)[1]
  if not found then return nil end
  local record, i = { streamId = id, account = account, mark = found[2][4] }, 0
  for value in string.gmatch(found[2][2] .. '\t', '([^\t]*)\t') do
    i = i + 1
    record[RECORD[i]] = value
  end
  return record
end
local function tell(record)
  local reply = { 'done', record.account }
  for i, name in ipairs(RECORD) do reply[i + 2] = record[name] end
  return reply
end
local function replaceRecord(record)
  call('XDEL', base .. 's:' .. record.account, record.streamId)
  writeRecord(record.account, record)
end

-- Whether an unknown call, which ended then by its process's clock, may have been settled and forgotten since.
local function mayBeForgotten(account, endedMs)
  local stream = base .. 's:' .. account
  if now - endedMs < DEDUP_MS - SKEW_MS or call('EXISTS', stream) == 0 then return false end
  local info = call('XINFO', 'STREAM', stream)
  for i = 1, #info, 2 do
    if info[i] == 'max-deleted-entry-id' then return tonumber(string.match(info[i + 1], '^%d+')) > endedMs - SKEW_MS end
  end
  return true
end

local function hash(name)
  local flat, result = call('HGETALL', name), {}
  for i = 1, #flat, 2 do result[flat[i]] = flat[i + 1] end
  return result, #flat > 0
end

local function answerOf(hold, key, day, month)
  local spent = tallyOf(key, hold.P, day, month).spent
  return digits(spent), hold.L and digits(notNegative(sub(hold.L, spent))) or '-'
end

-- Numbers the changes of what is spent. Written once per batch.
local function count()
  changes = (changes or tonumber(epoch[4] or '0')) + 1
  return changes
end

local function markOf(n, day, month) return whole(n) .. ',' .. whole(day.index) .. ',' .. whole(month.index) end

-- A settlement's reply: the record, and the balances after it, for the journal.
local function settled(record, key, account, day, month)
  record.account = account.id
  local reply = tell(record)
  reply[1] = 'settled'
  for _, value in ipairs({ whole(record.n), digits(account.spent), digits(key.total.spent), digits(day.spent),
    digits(month.spent), whole(day.index), whole(month.index) }) do
    reply[#reply + 1] = value
  end
  return reply
end

-- Fails where addJob would. Called before anything that cannot be undone.
local function seeJobs() call('ZCARD', base .. 'jq') end
local function addJob(job, record, account, day, month)
  local name = base .. 'j:' .. job.channel .. '\n' .. job.id
  if call('EXISTS', name) == 1 then return end
  call('HSET', name, 'id', job.id, 'ch', job.channel, 'i', record.i, 'k', record.k, 'A', account, 't', record.t, 'o',
    record.o, 'p', record.p, 's', 'Running', 'c', record.c, 'd', day, 'm', month)
  call('PEXPIRE', name, head.keepMs)
  call('SET', base .. 'jk:' .. record.k .. '\n' .. job.id, job.channel, 'PX', head.keepMs)
  call('ZADD', base .. 'jq', job.pollMs, job.channel .. '\n' .. job.id)
  -- the running jobs of a key, by the time at which they are forgotten
  local running = base .. 'jr:' .. record.k
  call('ZADD', running, whole(now + head.keepMs), job.channel .. '\n' .. job.id)
  call('PEXPIRE', running, head.keepMs)
end

-- The sets of calls that an instance holds, each changed once per batch: `o` of calls that it has confirmed, `u` of
-- calls whose hold it may not know of, because the answer may come too late. SCARD fails here if a key is not a set.
local function listOf(kind, instance)
  local name = base .. kind .. ':' .. instance
  local list = lists[name]
  if not list then
    call('SCARD', name)
    list = { name = name, changes = {} }
    lists[name] = list
  end
  return list
end
local function listsOf(instance) return listOf('o', instance), listOf('u', instance) end
local function enlist(kind, instance, id) listOf(kind, instance).changes[id] = true end
-- Neither this nor a record can be undone, so an operation that does both calls listsOf before it writes the record.
local function strike(instance, id)
  local confirmed, unconfirmed = listsOf(instance)
  confirmed.changes[id], unconfirmed.changes[id] = false, false
end
local function writeList(list)
  local entering, leaving = {}, {}
  for id, enters in pairs(list.changes) do
    if enters then entering[#entering + 1] = id else leaving[#leaving + 1] = id end
  end
  if #entering > 0 then call('SADD', list.name, unpack(entering)) end
  if #leaving > 0 then call('SREM', list.name, unpack(leaving)) end
end

-- Replaces a hold by its cost.
local function bookHold(id, hold, cost, record, reaped)
  local key, account = loadKey(hold.k), loadAccount(hold.A)
  local day, month = openWindow(key, 'd', hold.d), openWindow(key, 'm', hold.m)
  local tallies, own = { day, month, key.total, account }, hold.a
  local billed = cost
  if less(own, cost) then billed = least(cost, add(own, notNegative(freeFor(hold, key, account, day, month)))) end
  for i = 1, 4 do
    local tally = tallies[i]
    tally.held, tally.spent = sub(tally.held, own), add(tally.spent, billed)
  end
  day.calls, month.calls = day.calls - 1, month.calls - 1
  saveKey(key)
  saveAccount(account)
  record.i, record.k, record.t = id, hold.k, whole(hold.t)
  record.c, record.u = digits(billed), digits(sub(cost, billed))
  record.ks, record.kr = answerOf(hold, key, day, month)
  hold.a = ZERO
  listsOf(hold.I)
  record.n = count()
  record.mark = markOf(record.n, day, month)
  writeRecord(account.id, record, reaped and hold)
  -- last, as it cannot be undone: a call that is in no list is never reaped
  strike(hold.I, id)
  return key, account, day, month
end

-- Settles a call that was reaped: the difference is taken from what is free, or given back.
local function settleLate(id, hold, cost, record, before)
  local key, account = loadKey(hold.k), loadAccount(hold.A)
  local day, month = openWindow(key, 'd', hold.d), openWindow(key, 'm', hold.m)
  local tallies, billed = { day, month, key.total, account }, money(before.c)
  if less(billed, cost) then
    local more = least(sub(cost, billed), notNegative(freeFor(hold, key, account, day, month)))
    moveAll(tallies, 'spent', more)
    billed = add(billed, more)
  else
    giveBack(tallies, sub(billed, cost))
    billed = cost
  end
  saveKey(key)
  saveAccount(account)
  record.i, record.k, record.t = id, hold.k, whole(hold.t)
  record.c, record.u = digits(billed), digits(sub(cost, billed))
  record.ks, record.kr = answerOf(hold, key, day, month)
  record.account, record.streamId = account.id, before.streamId
  record.n = count()
  record.mark = markOf(record.n, day, month)
  replaceRecord(record)
  return key, account, day, month
end

local function enter(kind, id, hold, amount, key, account, day, month, previous)
  local tallies = { day, month, key.total, account }
  if previous then moveAll(tallies, 'held', previous.a, true)
  else day.calls, month.calls = day.calls + 1, month.calls + 1 end
  moveAll(tallies, 'held', amount)
  key.last = now
  saveKey(key)
  saveAccount(account)
  hold.A, hold.I, hold.a, hold.d, hold.m, hold.r = account.id, head.instance, amount, day.index, month.index, now
  saveHold(id, hold)
  if not previous then enlist(kind, head.instance, id) end
end

-- Slots --------------------------------------------------------------------------------------------------------------
-- Each slot is a sorted set of calls by the end of their lease, written once per batch. `changes`: by call, the end of
-- its lease, or false for a release. `most`: an upper bound of its members, releases not deducted; nil: not read yet.
local function slotOf(id)
  local slot = slots[id]
  if not slot then
    slot = { name = base .. 'z:' .. id, changes = {} }
    slots[id] = slot
  end
  return slot
end
local function writeSlot(slot)
  local entering, leaving
  for id, till in pairs(slot.changes) do
    if till then
      entering = entering or {}
      entering[#entering + 1] = till
      entering[#entering + 1] = id
    else
      leaving = leaving or {}
      leaving[#leaving + 1] = id
    end
  end
  slot.changes = {}
  if entering then call('ZADD', slot.name, unpack(entering)) end
  if leaving then call('ZREM', slot.name, unpack(leaving)) end
  if entering then call('PEXPIRE', slot.name, SLOT_KEY_MS) end
end
local function leave(slot, id) slotOf(slot).changes[id] = false end
local function isFull(id, slot, limit)
  if not slot.most then slot.most = call('ZCARD', slot.name) end
  if slot.most < limit then return false end
  writeSlot(slot)
  if call('ZSCORE', slot.name, id) then return false end
  call('ZREMRANGEBYSCORE', slot.name, '-inf', '(' .. whole(now))
  slot.most = call('ZCARD', slot.name)
  return slot.most >= limit
end

-- Minutes ------------------------------------------------------------------------------------------------------------
-- What calls took in the last 60 seconds, by second, oldest first. It counts until 60 seconds after the end of its
-- second, so that no 60 seconds ever have more than a limit allows. Written once per batch.
local SECOND = '<I4d'
local MINUTE_KEY_MS = 62000

local function minuteOf(id)
  local minute = minutes[id]
  if minute then return minute end
  minute = { name = base .. 'm:' .. id, sum = 0, seconds = {} }
  local text, at = call('GET', minute.name) or '', 1
  while at <= #text do
    local second, amount
    second, amount, at = struct.unpack(SECOND, text, at)
    if (second + 61) * 1000 > now then
      minute.seconds[#minute.seconds + 1] = { at = second, amount = amount }
      minute.sum = minute.sum + amount
    end
  end
  minutes[id] = minute
  return minute
end
local function writeMinute(minute)
  if not minute.changed then return end
  local texts = {}
  for i, second in ipairs(minute.seconds) do texts[i] = struct.pack(SECOND, second.at, second.amount) end
  call('SET', minute.name, table.concat(texts), 'PX', MINUTE_KEY_MS)
end
local function msUntil(second) return (second.at + 61) * 1000 - now end
-- After how many milliseconds so much more fits; 0: now. A call takes no more than the whole limit.
local function waitMs(minute, amount, limit)
  local left = minute.sum
  if amount == 0 or left + amount <= limit then return 0 end
  for _, second in ipairs(minute.seconds) do
    left = left - second.amount
    if left + amount <= limit then return msUntil(second) end
  end
end
-- A second that no longer counts is not corrected.
local function addToSecond(minute, at, amount)
  local place
  for i, second in ipairs(minute.seconds) do
    if second.at == at then
      second.amount, minute.sum, minute.changed = second.amount + amount, minute.sum + amount, true
      return
    end
    if second.at > at then
      place = i
      break
    end
  end
  if amount <= 0 or (at + 61) * 1000 <= now then return end
  table.insert(minute.seconds, place or #minute.seconds + 1, { at = at, amount = amount })
  minute.sum, minute.changed = minute.sum + amount, true
end

-- Limits are triples in words[from..to]: id, limit, and what the call takes by the minute; empty: a slot.
-- Returns the reply about the first limit that is full: its index (from 0), and of a minute what is left and after how
-- many milliseconds there is enough; nil: none is full.
local function firstFull(id, words, from, to)
  for i = from, to, 3 do
    local name, limit, amount = words[i], tonumber(words[i + 1]), tonumber(words[i + 2])
    if not amount then
      if isFull(id, slotOf(name), limit) then return { 'full', whole((i - from) / 3) } end
    else
      local minute = minuteOf(name)
      local wait = waitMs(minute, amount, limit)
      if wait ~= 0 then
        return { 'full', whole((i - from) / 3), whole(math.max(0, limit - minute.sum)), whole(wait) }
      end
    end
  end
  return nil
end
-- Returns the second, then what is left of each limit by the minute and when it is empty; nothing if there is none.
local function enterLimits(id, words, from, to)
  local till, second, states = whole(now + head.leaseMs), math.floor(now / 1000), {}
  for i = from, to, 3 do
    local name, limit, amount = words[i], tonumber(words[i + 1]), tonumber(words[i + 2])
    if not amount then
      local slot = slotOf(name)
      slot.changes[id], slot.most = till, slot.most + 1
    else
      local minute = minuteOf(name)
      addToSecond(minute, second, amount)
      if #states == 0 then states[1] = whole(second) end
      states[#states + 1] = whole(math.max(0, limit - minute.sum))
      states[#states + 1] = whole(#minute.seconds > 0 and msUntil(minute.seconds[#minute.seconds]) or 0)
    end
  end
  return states
end

-- Operations ---------------------------------------------------------------------------------------------------------
local operation = {}

function operation.hold(id, uid, accountId, t, o, limit, period, keyGeneration, credit, accountGeneration, amount,
  minimum, cost, p)
  local state, previous = loadCall(id)
  if state and state ~= 'H' then return { 'over' } end
  if previous and (previous.k ~= uid or previous.A ~= accountId) then return { 'other' } end
  local key, account = loadKey(uid), loadAccount(accountId)
  turn(key, 'd', today)
  turn(key, 'm', thisMonth)
  local keySeen, accountSeen = key.seen, account.seen
  local ceiling, funds = limitOf(limit), money(credit)
  if isStale(keyGeneration, keySeen, ceiling, period) then return { 'stale' } end
  if isStale(accountGeneration, accountSeen, funds, 'N') then return { 'stale' } end
  key.seen = seeing(keySeen, keyGeneration, ceiling, period)
  account.seen = seeing(accountSeen, accountGeneration, funds, 'N')
  local day, month = key.d, key.m
  if previous then day, month = openWindow(key, 'd', previous.d), openWindow(key, 'm', previous.m) end
  local own = previous and previous.a or ZERO
  local keyFree, accountFree = under(ceiling, tallyOf(key, period, day, month)), add(under(funds, account), own)
  if ceiling then keyFree = add(keyFree, own) end
  local free = least(keyFree, accountFree)
  -- a call that costs nothing needs no money
  local granted = amount == '0' and ZERO or least(money(amount), free)
  if less(granted, money(minimum)) or granted[1] < 0 then
    if key.seen ~= keySeen then saveKey(key) end
    if account.seen ~= accountSeen then saveAccount(account) end
    return { 'short', less(accountFree, keyFree) and 'Account' or 'Key', digits(notNegative(free)) }
  end
  local hold = { k = uid, t = tonumber(t), o = o, L = ceiling, P = period, C = funds, c = cost, p = p }
  enter('u', id, hold, granted, key, account, day, month, previous)
  return { 'held', digits(granted), whole(day.index), whole(month.index) }
end

-- Gives back what a hold holds. `text`: the call's state from now on.
local function dropHold(id, hold, text)
  local key, account = loadKey(hold.k), loadAccount(hold.A)
  local day, month = openWindow(key, 'd', hold.d), openWindow(key, 'm', hold.m)
  moveAll({ day, month, key.total, account }, 'held', hold.a, true)
  day.calls, month.calls = day.calls - 1, month.calls - 1
  saveKey(key)
  saveAccount(account)
  hold.a = ZERO
  text = text or 'W' .. packHold(hold)
  lives[text] = DEDUP_MS
  put(base .. 'c:' .. id, text)
  strike(hold.I, id)
end
-- Undoes a hold that was not answered, also one that arrives later from a slower connection.
function operation.withdraw(id)
  local state, hold = loadCall(id)
  if state == 'H' then dropHold(id, hold, 'W')
  elseif not state or state == 'W' then
    lives.W = DEDUP_MS
    put(base .. 'c:' .. id, 'W')
  end
  return { 'ok' }
end

-- The instance knows of these holds: if it dies, its calls are billed.
function operation.confirm(...)
  for _, id in ipairs({ ... }) do
    local text = get(base .. 'c:' .. id)
    if text and string.byte(text) == HELD then
      local confirmed, unconfirmed = listsOf(head.instance)
      confirmed.changes[id], unconfirmed.changes[id] = true, false
    end
  end
  return { 'ok' }
end

-- Remembers the limits in force.
function operation.limits(uid, accountId, limit, period, keyGeneration, credit, accountGeneration)
  local key, account = loadKey(uid), loadAccount(accountId)
  if not key.known or not account.known then return { 'ok' } end
  key.seen = seeing(key.seen, keyGeneration, limitOf(limit), period)
  account.seen = seeing(account.seen, accountGeneration, money(credit), 'N')
  saveKey(key)
  saveAccount(account)
  return { 'ok' }
end

function operation.progress(id, cost, p)
  local state, hold = loadCall(id)
  if state ~= 'H' then return { 'ok' } end
  hold.c, hold.p, hold.r = cost, p, now
  saveHold(id, hold)
  return { 'ok' }
end

-- The reply to a repeated settlement: the record, the latest balances with the number of the latest change, and the
-- number of the change that billed it. A record of an earlier version has no such number.
local function settledBefore(before)
  local reply = tell(before)
  local n, d, m = string.match(before.mark or '', '^(%d+),(%d+),(%d+)$')
  if not n then return reply end
  local key, account = loadKey(before.k), loadAccount(before.account)
  local day = findWindow(key, 'd', tonumber(d)) or window('d', tonumber(d))
  local month = findWindow(key, 'm', tonumber(m)) or window('m', tonumber(m))
  for _, value in ipairs({ whole(changes or tonumber(epoch[4] or '0')), digits(account.spent), digits(key.total.spent),
    digits(day.spent), digits(month.spent), d, m, n }) do
    reply[#reply + 1] = value
  end
  return reply
end

-- A dropped hold is settled like one that holds nothing.
local function reviveHold(hold)
  local key = loadKey(hold.k)
  local day, month = openWindow(key, 'd', hold.d), openWindow(key, 'm', hold.m)
  day.calls, month.calls = day.calls + 1, month.calls + 1
  saveKey(key)
end

function operation.settle(id, cost, p, o, status, duration, jobId, pollMs, channel, ...)
  for _, slot in ipairs({ ... }) do leave(slot, id) end
  local state, hold, pointer = loadCall(id)
  if not state or (state == 'W' and not hold) then return { 'unknown' } end
  local before = pointer and readRecord(pointer)
  if pointer and not before then return { 'forgotten' } end
  if state == 'S' then return settledBefore(before) end
  local record = { p = p, o = o ~= '' and o or hold.o, s = status, d = duration }
  local key, account, day, month
  if jobId ~= '' then seeJobs() end
  if state == 'W' then reviveHold(hold) end
  if before then key, account, day, month = settleLate(id, hold, money(cost), record, before)
  else key, account, day, month = bookHold(id, hold, money(cost), record) end
  if jobId ~= '' then
    addJob({ id = jobId, pollMs = pollMs, channel = channel }, record, account.id, whole(hold.d), whole(hold.m))
  end
  return settled(record, key, account, day, month)
end

-- The client of this settled call got no response. The reply is the one to a repeated settlement.
function operation.withhold(id)
  local state, _, pointer = loadCall(id)
  local record = state == 'S' and readRecord(pointer)
  if not record then return { 'unknown' } end
  record.s = 'Withheld'
  replaceRecord(record)
  return settledBefore(record)
end

-- The settlement of a call by the process that holds it: the reply has only what that process does not know.
-- Otherwise it is `settle`. `o` is empty where the route is the hold's.
function operation.book(id, cost, p, o, status, duration, ...)
  local state, hold = loadCall(id)
  if state ~= 'H' or hold.I ~= head.instance then
    return operation.settle(id, cost, p, o, status, duration, '', '0', '', ...)
  end
  for _, slot in ipairs({ ... }) do leave(slot, id) end
  local record = { p = p, o = o ~= '' and o or hold.o, s = status, d = duration }
  local key, account, day, month = bookHold(id, hold, money(cost), record)
  local reply = { 'booked', whole(record.n), digits(account.spent), digits(key.total.spent), digits(day.spent),
    digits(month.spent) }
  if record.u ~= '0' then reply[7], reply[8] = record.c, record.u end
  return reply
end

-- Bills the holds of dead instances at their last progress and drops those that they have not confirmed, at most so
-- many. Each reply within the reply is JSON.
function operation.reap(most)
  local left, reply = tonumber(most), { 'ok' }
  local seen = call('HGETALL', base .. 'i')
  for i = 1, #seen, 2 do
    local instance, ms = seen[i], tonumber(string.match(seen[i + 1], '^%d+'))
    if now - ms > head.leaseMs and instance ~= head.instance then
      local ids = call('SMEMBERS', base .. 'o:' .. instance)
      table.sort(ids)
      for _, id in ipairs(ids) do
        if left == 0 then
          reply[1] = 'more'
          return reply
        end
        local state, hold = loadCall(id)
        if state == 'H' then
          local record = { p = hold.p, o = hold.o, s = 'Abandoned', d = whole(math.max(0, hold.r - hold.t)) }
          reply[#reply + 1] = cjson.encode(settled(record, bookHold(id, hold, money(hold.c), record, true)))
          commit()
          left = left - 1
        else
          strike(instance, id)
        end
      end
      for _, id in ipairs(call('SMEMBERS', base .. 'u:' .. instance)) do
        if left == 0 then
          reply[1] = 'more'
          return reply
        end
        local state, hold = loadCall(id)
        if state == 'H' then dropHold(id, hold) else strike(instance, id) end
        commit()
        left = left - 1
      end
      if now - ms > INSTANCE_MS then call('HDEL', base .. 'i', instance) end
    end
  end
  return reply
end

function operation.take(id, ...)
  local wanted = { ... }
  local full = firstFull(id, wanted, 1, #wanted)
  if full then return full end
  return { 'taken', unpack(enterLimits(id, wanted, 1, #wanted)) }
end
-- Limits and money: both, or neither. `words`: how many arguments the limits are; those of `hold` follow.
function operation.admit(words, ...)
  local args, count = { ... }, tonumber(words)
  local id = args[count + 1]
  local full = firstFull(id, args, 1, count)
  if full then return full end
  local reply = operation.hold(unpack(args, count + 1))
  if reply[1] == 'held' then
    for _, word in ipairs(enterLimits(id, args, 1, count)) do reply[#reply + 1] = word end
  end
  return reply
end
-- Corrects what a call took in a second to what it has used.
function operation.correct(id, second, amount)
  addToSecond(minuteOf(id), tonumber(second), tonumber(amount))
  return { 'ok' }
end
function operation.give(id, ...)
  for _, slot in ipairs({ ... }) do leave(slot, id) end
  return { 'ok' }
end
-- Renews leases. `again` is 1: also restores those that the store has lost.
function operation.keep(slot, again, ...)
  local kept, till, args = slotOf(slot), whole(now + head.leaseMs), {}
  local name = kept.name
  writeSlot(kept)
  for _, id in ipairs({ ... }) do args[#args + 1] = till args[#args + 1] = id end
  if again == '1' then call('ZADD', name, unpack(args)) else call('ZADD', name, 'XX', unpack(args)) end
  call('PEXPIRE', name, SLOT_KEY_MS)
  kept.most = nil
  return { 'ok' }
end

-- Does nothing: every batch tells that its instance is alive.
function operation.beat() return { 'ok' } end

-- Reading
function operation.key(uid)
  local key = loadKey(uid)
  local day, month = findWindow(key, 'd', today) or window('d', 0), findWindow(key, 'm', thisMonth) or window('m', 0)
  local reply = { key.known and 'key' or 'none', whole(now), key.last > 0 and whole(key.last) or '' }
  for _, tally in ipairs({ key.total, day, month }) do
    reply[#reply + 1] = digits(tally.spent)
    reply[#reply + 1] = digits(tally.held)
  end
  return reply
end
function operation.account(id)
  local account = loadAccount(id)
  return { 'account', digits(account.spent), digits(account.held) }
end
function operation.usage(id)
  local state, hold, pointer = loadCall(id)
  local record = pointer and readRecord(pointer)
  if record then return tell(record) end
  if state ~= 'H' then return { 'none' } end
  local duration = whole(math.max(0, now - hold.t))
  return { 'running', hold.A, id, hold.k, whole(hold.t), hold.o, hold.p, hold.c, '0', 'Running', duration, '0', '-' }
end

-- Jobs
-- `p` has the terms of its bill. An earlier version has written none.
local function tellJob(job) return { 'job', job.id, job.s, job.A, job.i, job.k, job.t, job.o, job.p or '' } end

function operation.job(uid, jobId)
  local channel = call('GET', base .. 'jk:' .. uid .. '\n' .. jobId)
  if not channel then return { 'none' } end
  local job, exists = hash(base .. 'j:' .. channel .. '\n' .. jobId)
  if not exists or job.k ~= uid then return { 'none' } end
  return tellJob(job)
end
function operation.channelJob(account, channel, jobId)
  local job, exists = hash(base .. 'j:' .. channel .. '\n' .. jobId)
  if not exists or job.A ~= account then return { 'none' } end
  return tellJob(job)
end
function operation.runningJobs(uid)
  local running = base .. 'jr:' .. uid
  call('ZREMRANGEBYSCORE', running, '-inf', whole(now))
  return { 'count', whole(call('ZCARD', running)) }
end
-- The conversations of an account: their bytes by id, the sum of these, and the ids that are forgotten at a time.
local function conversationsOf(account)
  return base .. 'vb:' .. account, base .. 'vs:' .. account, base .. 'vu:' .. account
end
local function forgetConversation(account, id)
  local bytes, sum, ends = conversationsOf(account)
  local own = call('HGET', bytes, id)
  if not own then return end
  call('HDEL', bytes, id)
  call('DECRBY', sum, own)
  call('ZREM', ends, id)
end
function operation.keepConversation(account, id, added, untilMs, most, mostBytes)
  local bytes, sum, ends = conversationsOf(account)
  for _, old in ipairs(call('ZRANGEBYSCORE', ends, '-inf', whole(now))) do forgetConversation(account, old) end
  local count = call('HLEN', bytes) + 1 - call('HEXISTS', bytes, id)
  local total = tonumber(call('GET', sum) or 0) + tonumber(added)
  if count > tonumber(most) or total > tonumber(mostBytes) then return { 'full' } end
  call('HINCRBY', bytes, id, added)
  call('SET', sum, whole(total))
  if untilMs == '-' then call('ZREM', ends, id) else call('ZADD', ends, untilMs, id) end
  return { 'kept' }
end
function operation.forgetConversation(account, id)
  forgetConversation(account, id)
  return { 'forgotten' }
end
-- Accounts take turns among the jobs that are longest due, so that one with many does not keep others waiting.
function operation.due(nowMs, againMs, most)
  local reply, found, counts = { 'jobs' }, {}, {}
  most = tonumber(most)
  if most <= 0 then return reply end
  for at, id in ipairs(call('ZRANGEBYSCORE', base .. 'jq', '-inf', nowMs, 'LIMIT', 0, most * 10)) do
    local job, exists = hash(base .. 'j:' .. id)
    if exists then
      local turn = counts[job.A] or 0
      counts[job.A] = turn + 1
      found[#found + 1] = { id = id, job = job, turn = turn, at = at }
    else call('ZREM', base .. 'jq', id) end
  end
  table.sort(found, function(a, b)
    if a.turn ~= b.turn then return a.turn < b.turn end
    return a.at < b.at
  end)
  for index = 1, math.min(most, #found) do
    local due = found[index]
    call('ZADD', base .. 'jq', whole(tonumber(nowMs) + tonumber(againMs)), due.id)
    reply[#reply + 1] = cjson.encode(tellJob(due.job))
  end
  return reply
end
-- Ends a job. Its hash keeps the state, without the terms of its bill.
local function endJob(name, channel, jobId, state)
  call('HSET', name, 's', state, 'p', '')
  call('ZREM', base .. 'jr:' .. (call('HGET', name, 'k') or ''), channel .. '\n' .. jobId)
  call('ZREM', base .. 'jq', channel .. '\n' .. jobId)
end

-- Replaces what a job was billed by its cost, where it was billed, and gives the rest back. `p` is empty for a refund,
-- whose record keeps its tokens. Returns the call's record, with its balances for the journal; nil: it is forgotten.
local function rebill(job, cost, p, status)
  local charged = money(job.c)
  local billed = least(charged, cost)
  local key, account = loadKey(job.k), loadAccount(job.A)
  local day = findWindow(key, 'd', tonumber(job.d)) or window('d', tonumber(job.d))
  local month = findWindow(key, 'm', tonumber(job.m)) or window('m', tonumber(job.m))
  giveBack({ key.total, account, day, month }, sub(charged, billed))
  saveKey(key)
  saveAccount(account)
  local n = count()
  local unbilled = sub(cost, billed)
  local _, _, pointer = loadCall(job.i)
  local record = pointer and readRecord(pointer)
  if record then
    record.c, record.u, record.s, record.n = digits(billed), digits(unbilled), status, n
    if p ~= '' then record.p = p end
    replaceRecord(record)
  end
  return digits(billed), digits(unbilled), record and settled(record, key, account, day, month)
end
-- Without `cost`, `p` and `status` the job keeps its charge. The reply ends with what was billed and what was not, the
-- charge, the time, and the record for the journal.
function operation.finish(channel, jobId, state, cost, p, status)
  local name = base .. 'j:' .. channel .. '\n' .. jobId
  local job, exists = hash(name)
  if not exists then return { 'none' } end
  if job.s ~= 'Running' then return tellJob(job) end
  job.s, job.p = state, ''
  local reply = tellJob(job)
  if cost then
    local record
    reply[10], reply[11], record = rebill(job, money(cost), p, status)
    reply[12], reply[13], reply[14] = job.c, whole(now), record and cjson.encode(record) or ''
  end
  endJob(name, channel, jobId, state)
  return reply
end

-- Refilling a store that has lost something --------------------------------------------------------------------------
-- Restores a hold that its process knows, or its confirmation. It was granted once, and is not measured again. `ended`
-- is given for a call whose settlement follows.
function operation.adopt(id, uid, accountId, t, o, limit, period, credit, amount, cost, p, day, month, ended)
  local state, known = loadCall(id)
  if state == 'H' and known.I == head.instance then operation.confirm(id) end
  if state then return { 'known' } end
  if ended and mayBeForgotten(accountId, tonumber(ended)) then return { 'forgotten' } end
  local key, account = loadKey(uid), loadAccount(accountId)
  local hold = { k = uid, t = tonumber(t), o = o, L = limitOf(limit), P = period, C = money(credit), c = cost, p = p }
  local dayWindow, monthWindow = openWindow(key, 'd', tonumber(day)), openWindow(key, 'm', tonumber(month))
  enter('o', id, hold, money(amount), key, account, dayWindow, monthWindow, nil)
  return { 'adopted' }
end

-- In place of a change number: a status knew more than the journals until then.
local BY_STATUS = 0

-- Whether a change is of an epoch before the one that the store has lost. Of such changes a balance has those up to the
-- latest that was put back while the store began anew: it was put back into the epoch before, too.
local function isEarlier(own) return own < tonumber(epoch[6] or '0') end
local function earlierOf(balance) return base .. 'g:' .. string.sub(balance.name, #base + 1) end
local function reached(balance, own)
  if not isEarlier(own) then return balance.refilled end
  return tonumber(string.match(get(earlierOf(balance)) or '', '%d+') or '-1')
end
local function reachEarlier(balance, n)
  if not isEarlier(n) or n <= reached(balance, n) then return end
  local text = 'G' .. whole(n)
  lives[text] = DEDUP_MS
  put(earlierOf(balance), text)
end

-- While a store begins anew, a change is the latest of a window although it may not be the key's.
local function isLatestOf(key, of, own)
  local name = earlierOf(key) .. ':' .. of.kind .. whole(of.index)
  if own <= tonumber(string.match(get(name) or '', '%d+') or '-1') then return false end
  local text = 'G' .. whole(own)
  lives[text] = DEDUP_MS
  put(name, text)
  return true
end

-- How a settlement from a journal enters a balance. add: its cost (`since`: it is no older than the epoch). set: the
-- balance becomes what it was after it (a store that begins anew). raise: the same, never lower (statuses came first).
-- join: what was before is added as well. nil: the balance has it already. `endedMs`: when the call ended. `since` is
-- 'missed' if its process was not part of the epoch before.
local function wayOf(balance, own, anew, since, endedMs)
  if epoch[2] ~= 'set' or since == '1' then return 'add' end
  if balance.refilled == BY_STATUS then return 'raise' end
  if anew then return own > balance.refilled and 'set' or nil end
  local latest = reached(balance, own)
  -- a store that was restored begins with balances
  if latest < 0 and balance.refilled < 0 then
    return tonumber(call('HGET', base .. 'e', 'from') or '0') > 0 and 'add' or 'join'
  end
  if own <= latest then return nil end
  -- a process that was part of the epoch before had put it back into that
  if since ~= 'missed' and isEarlier(own) and not isEarlier(balance.refilled) then return nil end
  -- journals of others no longer have the changes of its time
  if latest < 0 and now - endedMs > JOURNAL_MS then return nil end
  return 'add'
end
local function raise(tally, spent)
  if not less(tally.spent, spent) then return false end
  tally.spent = spent
  return true
end
local function reckon(way, tally, after, by)
  if way == 'set' then tally.spent = money(after)
  elseif way == 'raise' then raise(tally, money(after))
  elseif way == 'join' then move(tally, 'spent', money(after))
  elseif way == 'add' then move(tally, 'spent', by) end
end

-- Enters a change from a journal into the balances. `after` has what was spent after change `n`, `by` what the change
-- added. Returns its number in this epoch, and whether it is a new one.
local function reenter(key, account, day, month, after, change, by)
  local n, own, anew = change.n, change.own, epoch[2] == 'set' and refilling
  local accountWay = wayOf(account, own, anew, change.since, change.endedMs)
  local keyWay = wayOf(key, own, anew, change.since, change.endedMs)
  reckon(accountWay, account, after.account, by)
  reckon(keyWay, key.total, after.total, by)
  for _, each in ipairs({ { day, after.day }, { month, after.month } }) do
    local way = keyWay
    if anew and way ~= 'raise' then way = isLatestOf(key, each[1], own) and 'set' or nil end
    reckon(way, each[1], each[2], by)
  end
  if accountWay == 'set' or accountWay == 'join' then account.refilled = n end
  if keyWay == 'set' or keyWay == 'join' then key.refilled = n end
  if anew or accountWay == 'join' then reachEarlier(account, n) end
  if anew or keyWay == 'join' then reachEarlier(key, n) end
  saveKey(key)
  saveAccount(account)
  local latest = count()
  if n > latest then
    changes = n + 1
    latest = changes
  end
  local isNew = accountWay == 'add' or accountWay == 'join' or keyWay == 'add' or keyWay == 'join'
  return isNew and latest or own, isNew
end

-- The store had lost a settlement, and the call was reaped: the balances become what had been acknowledged.
local function refillReaped(hold, before, record, job)
  local key, account = loadKey(hold.k), loadAccount(hold.A)
  local tallies = { openWindow(key, 'd', hold.d), openWindow(key, 'm', hold.m), key.total, account }
  moveAll(tallies, 'spent', money(record.c))
  giveBack(tallies, money(before.c))
  saveKey(key)
  saveAccount(account)
  record.account, record.streamId, record.mark = before.account, before.streamId, before.mark
  replaceRecord(record)
  count()
  if job.id ~= '' then addJob(job, record, account.id, whole(hold.d), whole(hold.m)) end
  return { 'refilled' }
end

-- Restores a settlement that was acknowledged, from a journal. The balances are those after change `n`; `own` is the
-- number of the change that billed the call, if that is an earlier one.
function operation.refill(id, uid, accountId, t, o, p, cost, unbilled, status, duration, spent, remaining, n,
  accountSpent, total, daySpent, monthSpent, day, month, jobId, pollMs, channel, since, own, jobEndedMs)
  local state, hold, pointer = loadCall(id)
  local endedMs = tonumber(jobEndedMs) or tonumber(t) + tonumber(duration)
  local record = { i = id, k = uid, t = t, o = o, p = p, c = cost, u = unbilled, s = status, d = duration, ks = spent,
    kr = remaining }
  if state == 'R' and status ~= 'Abandoned' then
    local before = readRecord(pointer)
    if before then
      return refillReaped(hold, before, record, { id = jobId, pollMs = pollMs, channel = channel })
    end
  end
  if state == 'W' and hold then state, hold = nil, nil end
  if state and state ~= 'H' then return { 'known' } end
  local anew = epoch[2] == 'set' and refilling
  if not hold and not anew and mayBeForgotten(accountId, endedMs) then return { 'known' } end
  n = tonumber(n)
  local key, account = loadKey(uid), loadAccount(accountId)
  local dayWindow, monthWindow = openWindow(key, 'd', tonumber(day)), openWindow(key, 'm', tonumber(month))
  if hold then
    moveAll({ dayWindow, monthWindow, key.total, account }, 'held', hold.a, true)
    dayWindow.calls, monthWindow.calls = dayWindow.calls - 1, monthWindow.calls - 1
  end
  if key.last == 0 then key.last = now end
  if hold then listsOf(hold.I) end
  if jobId ~= '' then seeJobs() end
  local after = { account = accountSpent, total = total, day = daySpent, month = monthSpent }
  local change = { n = n, own = tonumber(own) or n, since = since, endedMs = endedMs }
  local number, isNew = reenter(key, account, dayWindow, monthWindow, after, change, money(cost))
  record.n = number
  record.mark = markOf(number, dayWindow, monthWindow)
  writeRecord(accountId, record)
  if hold then strike(hold.I, id) end
  if jobId ~= '' then addJob({ id = jobId, pollMs = pollMs, channel = channel }, record, accountId, day, month) end
  if not isNew then return { 'refilled' } end
  -- it is a change of this epoch now, and the journal learns its number
  local reply = settled(record, key, account, dayWindow, monthWindow)
  reply[1] = 'refilled'
  return reply
end
-- Restores the end of a job, whose bill replaced `charged`, from a journal. `endedMs`: when it ended.
function operation.refillEnd(jobId, charged, endedMs, channel, id, uid, accountId, t, o, p, cost, unbilled, status,
  duration, spent, remaining, n, accountSpent, total, daySpent, monthSpent, day, month, since, own)
  local state, _, pointer = loadCall(id)
  -- with the job, the store has lost its call: that is restored as it ended, without a job that could end again
  if state ~= 'S' then
    return operation.refill(id, uid, accountId, t, o, p, cost, unbilled, status, duration, spent, remaining, n,
      accountSpent, total, daySpent, monthSpent, day, month, '', '0', channel, since, own, endedMs)
  end
  local name = base .. 'j:' .. channel .. '\n' .. jobId
  local record, job = readRecord(pointer), hash(name)
  if not record or job.s ~= 'Running' then return { 'known' } end
  local key, account = loadKey(uid), loadAccount(accountId)
  local dayWindow, monthWindow = openWindow(key, 'd', tonumber(day)), openWindow(key, 'm', tonumber(month))
  seeJobs()
  n = tonumber(n)
  local after = { account = accountSpent, total = total, day = daySpent, month = monthSpent }
  local change = { n = n, own = tonumber(own) or n, since = since, endedMs = tonumber(endedMs) }
  local number, isNew = reenter(key, account, dayWindow, monthWindow, after, change, sub(money(cost), money(charged)))
  record.p, record.c, record.u, record.s, record.n = p, cost, unbilled, status, number
  replaceRecord(record)
  endJob(name, channel, jobId, status == 'Refunded' and 'Failed' or 'Completed')
  if not isNew then return { 'refilled' } end
  local reply = settled(record, key, account, dayWindow, monthWindow)
  reply[1] = 'refilled'
  return reply
end
-- Raises balances to what a status says was spent at least; only while a store begins anew.
function operation.least(accountId, accountSpent, uid, total, period, index, spent)
  if not (epoch[2] == 'set' and refilling) then return { 'late' } end
  if accountId ~= '' then
    local account = loadAccount(accountId)
    if raise(account, money(accountSpent)) then
      account.refilled = BY_STATUS
      saveAccount(account)
    end
  end
  if uid ~= '' then
    local key = loadKey(uid)
    local more = raise(key.total, money(total))
    if period ~= 'N' then
      more = raise(openWindow(key, period == 'D' and 'd' or 'm', tonumber(index)), money(spent)) or more
    end
    if more then key.refilled = BY_STATUS end
    saveKey(key)
  end
  return { 'ok' }
end

-- The fast path ------------------------------------------------------------------------------------------------------
-- Nearly every call, by the same arithmetic without tables, which are most of its cost: a new call of a known key and
-- account whose money is there, with these limits, in this day and month; and its settlement within its hold. nil: it
-- is another call, nothing was changed, and the general operation follows. All that can fail comes before any change.
local function seenAgain(text, at, generation, high, low, period)
  if string.byte(text, at) == 45 then return nil end
  local seenPeriod, unlimited, seenHigh, seenLow, ms, seenGeneration, past = struct.unpack(SEEN, text, at)
  if seenGeneration ~= generation or seenPeriod ~= period then return nil end
  if high then
    if unlimited ~= 0 or seenHigh ~= high or seenLow ~= low then return nil end
  elseif unlimited == 0 then return nil end
  if now >= ms and now - ms <= SEEN_AGAIN_MS then return string.sub(text, at) end
  return struct.pack(SEEN, period, unlimited, seenHigh, seenLow, now, #generation, generation) .. string.sub(text, past)
end

local function holdUsual(id, uid, accountId, t, o, limit, period, keyGeneration, credit, accountGeneration, amount,
  minimum, cost, p)
  local name, keyName, accountName = base .. 'c:' .. id, base .. 'k:' .. uid, base .. 'a:' .. accountId
  if get(name) then return nil end
  local keyText, accountText = get(keyName), get(accountName)
  if not keyText or not accountText then return nil end
  local di, ds, dsl, dh, dhl, dc, mi, ms, msl, mh, mhl, mc, ts, tsl, th, thl, _, refilled, keyAt =
    struct.unpack(KEY, keyText)
  if di ~= today or mi ~= thisMonth then return nil end
  local s, sl, h, hl, accountRefilled, accountAt = struct.unpack(ACCOUNT, accountText)
  local own, ownLow = limbs(amount)
  local fewest, fewestLow = limbs(minimum)
  -- the sign of a difference is exact: where it is large, nano-dollars do not matter
  if own < 0 or (own - fewest) * LIMB + (ownLow - fewestLow) < 0 then return nil end
  local C, Cl = limbs(credit)
  if (C - s - h - own) * LIMB + (Cl - sl - hl - ownLow) < 0 then return nil end
  local L, Ll
  if limit ~= '-' then
    L, Ll = limbs(limit)
    local left, leftLow = L - own, Ll - ownLow
    if period == 'D' then left, leftLow = left - ds - dh, leftLow - dsl - dhl
    elseif period == 'M' then left, leftLow = left - ms - mh, leftLow - msl - mhl
    else left, leftLow = left - ts - th, leftLow - tsl - thl end
    if left * LIMB + leftLow < 0 then return nil end
  end
  local keySeen = seenAgain(keyText, keyAt, keyGeneration, L, Ll, period)
  local accountSeen = keySeen and seenAgain(accountText, accountAt, accountGeneration, C, Cl, 'N')
  if not accountSeen then return nil end
  dh, dhl, mh, mhl, th, thl, h, hl = dh + own, dhl + ownLow, mh + own, mhl + ownLow, th + own, thl + ownLow, h + own,
    hl + ownLow
  if dhl >= LIMB then dh, dhl = dh + 1, dhl - LIMB end
  if mhl >= LIMB then mh, mhl = mh + 1, mhl - LIMB end
  if thl >= LIMB then th, thl = th + 1, thl - LIMB end
  if hl >= LIMB then h, hl = h + 1, hl - LIMB end
  local instance = head.instance
  local hold = 'H' .. struct.pack(HOLD, own, ownLow, L or 0, Ll or 0, L and 0 or 1, C, Cl, period, di, mi, tonumber(t),
    now, #uid, uid, #accountId, accountId,
    #instance, instance, #cost, cost, #o, o, #p, p)
  local key = struct.pack(KEY, di, ds, dsl, dh, dhl, dc + 1, mi, ms, msl, mh, mhl, mc + 1, ts, tsl, th, thl, now,
    refilled) .. keySeen
  local account = struct.pack(ACCOUNT, s, sl, h, hl, accountRefilled) .. accountSeen
  enlist('u', instance, id)
  changed[name], changed[keyName], changed[accountName] = hold, key, account
  return 'held\0' .. decimal(own, ownLow) .. '\0' .. head.windows
end

local function bookUsual(id, cost, p, o, status, duration)
  local name = base .. 'c:' .. id
  local hold = get(name)
  if not hold or string.byte(hold) ~= HELD then return nil end
  local own, ownLow, L, Ll, unlimited, _, _, period, day, month, t, _, uid, accountId, instance, _, route =
    struct.unpack(HOLD_TO_ROUTE, hold, 2)
  if instance ~= head.instance then return nil end
  local billed, billedLow = limbs(cost)
  if billed < 0 or (own - billed) * LIMB + (ownLow - billedLow) < 0 then return nil end
  local keyName, accountName = base .. 'k:' .. uid, base .. 'a:' .. accountId
  local keyText, accountText = get(keyName), get(accountName)
  if not keyText or not accountText then return nil end
  local di, ds, dsl, dh, dhl, dc, mi, ms, msl, mh, mhl, mc, ts, tsl, th, thl, last, refilled, keyAt =
    struct.unpack(KEY, keyText)
  if di ~= day or mi ~= month then return nil end
  local s, sl, h, hl, accountRefilled, accountAt = struct.unpack(ACCOUNT, accountText)
  dh, dhl, mh, mhl, th, thl, h, hl = dh - own, dhl - ownLow, mh - own, mhl - ownLow, th - own, thl - ownLow, h - own,
    hl - ownLow
  if dhl < 0 then dh, dhl = dh - 1, dhl + LIMB end
  if mhl < 0 then mh, mhl = mh - 1, mhl + LIMB end
  if thl < 0 then th, thl = th - 1, thl + LIMB end
  if hl < 0 then h, hl = h - 1, hl + LIMB end
  ds, dsl, ms, msl, ts, tsl, s, sl = ds + billed, dsl + billedLow, ms + billed, msl + billedLow, ts + billed,
    tsl + billedLow, s + billed, sl + billedLow
  if dsl >= LIMB then ds, dsl = ds + 1, dsl - LIMB end
  if msl >= LIMB then ms, msl = ms + 1, msl - LIMB end
  if tsl >= LIMB then ts, tsl = ts + 1, tsl - LIMB end
  if sl >= LIMB then s, sl = s + 1, sl - LIMB end
  local key = struct.pack(KEY, di, ds, dsl, dh, dhl, dc - 1, mi, ms, msl, mh, mhl, mc - 1, ts, tsl, th, thl, last,
    refilled) .. string.sub(keyText, keyAt)
  local account = struct.pack(ACCOUNT, s, sl, h, hl, accountRefilled) .. string.sub(accountText, accountAt)
  local total, daily, monthly = decimal(ts, tsl), decimal(ds, dsl), decimal(ms, msl)
  local spent, spentHigh, spentLow = total, ts, tsl
  if period == 'D' then spent, spentHigh, spentLow = daily, ds, dsl
  elseif period == 'M' then spent, spentHigh, spentLow = monthly, ms, msl end
  local remaining = '-'
  if unlimited == 0 then
    local left, leftLow = L - spentHigh, Ll - spentLow
    if leftLow < 0 then left, leftLow = left - 1, leftLow + LIMB end
    remaining = left < 0 and '0' or decimal(left, leftLow)
  end
  if o == '' then o = route end
  listsOf(instance)
  local n = whole(count())
  local state = 'S' .. append(accountId, id .. '\t' .. uid .. '\t' .. whole(t) .. '\t' .. o .. '\t' .. p .. '\t'
    .. decimal(billed, billedLow) .. '\t0\t' .. status .. '\t' .. duration
    .. '\t' .. spent .. '\t' .. remaining, n .. ',' .. whole(day) .. ',' .. whole(month))
  strike(instance, id)
  lives[state] = head.keepMs
  changed[name], changed[keyName], changed[accountName] = state, key, account
  return 'booked\0' .. n .. '\0' .. decimal(s, sl) .. '\0' .. total .. '\0' .. daily .. '\0' .. monthly
end

local usual = {}
function usual.hold(words) return holdUsual(unpack(words)) end
function usual.admit(words)
  local last = tonumber(words[1]) + 1
  local id = words[last + 1]
  local full = firstFull(id, words, 2, last)
  if full then return table.concat(full, '\0') end
  local reply = holdUsual(unpack(words, last + 1))
  if not reply then return nil end
  return table.concat({ reply, unpack(enterLimits(id, words, 2, last)) }, '\0')
end
function usual.book(words)
  for i = 7, #words do leave(words[i], words[1]) end
  return bookUsual(unpack(words, 1, 6))
end

-- The batch ----------------------------------------------------------------------------------------------------------
-- Reads the head of a batch; returns where it ends.
local function begin(keys, text)
  call, base, changes = redis.call, keys[1], nil
  known, changed, staged, lives, grown, lists, slots, minutes = {}, {}, {}, {}, {}, {}, {}, {}
  local clock, instance, epochKnown, acked, seq, mode, leaseMs, keepMs, records, generationMs, lenient,
    at = struct.unpack('sssssssssss', text)
  head = { instance = instance, epoch = epochKnown, acked = tonumber(acked), seq = tonumber(seq), mode = mode,
    leaseMs = tonumber(leaseMs),
    keepMs = keepMs, records = tonumber(records), generationMs = tonumber(generationMs), lenient = lenient == '1' }
  now = tonumber(clock)
  if not now then
    local time = call('TIME')
    now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  end
  today, thisMonth = dayOf(now), monthOf(now)
  epoch = call('HMGET', base .. 'e', 'id', 'mode', 'until', 'n', 'start', 'previous')
  refilling = epoch[3] and tonumber(epoch[3]) > now
  head.windows = whole(today) .. '\0' .. whole(thisMonth)
  return at
end

local function tellEpoch(word)
  return { word, epoch[1] or '', epoch[2] or '', whole(refilling and tonumber(epoch[3]) - now or 0), epoch[5] or '0',
    epoch[6] or '0' }
end

-- Founds a new epoch, where the store has none or has lost writes. `from`: the number of changes that the store has.
-- The epoch numbers its changes from `start`, which is above the numbers of earlier epochs, also of those that nobody
-- remembers; `previous` is the start of the epoch that its founder knew.
local function found(id, after, refillMs, previous)
  if (epoch[1] or '') ~= after then return tellEpoch('epoch') end
  if not epoch[1] then call('HSET', base .. 'e', 'from', epoch[4] or '0') end
  local start = whole(math.max(tonumber(epoch[4] or '0'), now * CHANGES_PER_MS))
  call('HSET', base .. 'e', 'id', id, 'mode', epoch[1] and 'add' or 'set', 'until', whole(now + tonumber(refillMs)),
    'n', start, 'start', start, 'previous', previous)
  return { 'founded' }
end

-- Why the batch may not be executed; nil: it may.
local function refusal()
  if not epoch[1] then return tellEpoch('empty') end
  if head.mode == 'read' then return refilling and tellEpoch('refilling') or nil end
  if epoch[1] ~= head.epoch then return tellEpoch('epoch') end
  local known = call('HGET', base .. 'i', head.instance)
  local last = known and tonumber(string.match(known, ',(%d+)$')) or 0
  if last < head.acked then return tellEpoch('lost') end
  if refilling and head.mode ~= 'refill' then return tellEpoch('refilling') end
  -- once open, open: also when the server's clock is set back
  if not refilling and epoch[3] ~= '0' then call('HSET', base .. 'e', 'until', '0') end
  call('HSET', base .. 'i', head.instance, whole(now) .. ',' .. whole(math.max(last, head.seq)))
  return nil
end

local WORD_END, REPLY_END = '\0', '\30'

-- The format of so many arguments.
local formats = {}
local function formatOf(words)
  local format = formats[words]
  if not format then
    format = string.rep('s', words)
    formats[words] = format
  end
  return format
end

-- The operations' names, and the arguments of each.
local function operationsOf(text, at)
  local names, words, count = {}, {}, 0
  while at <= #text do
    local name, length
    name, length, at = struct.unpack('ss', text, at)
    length = tonumber(length)
    local list = { struct.unpack(formatOf(length), text, at) }
    at, list[length + 1] = list[length + 1], nil
    count = count + 1
    names[count], words[count] = name, list
  end
  return names, words
end

-- Reads the calls and balances that the operations will need.
local function prefetch(names, words)
  local wanted, calls = {}, {}
  local function want(name)
    if known[name] ~= nil then return end
    known[name] = false
    wanted[#wanted + 1] = name
  end
  for i, name in ipairs(names) do
    local list = words[i]
    if name == 'admit' or name == 'hold' then
      local at = name == 'admit' and list[1] + 2 or 1
      want(base .. 'c:' .. list[at])
      want(base .. 'k:' .. list[at + 1])
      want(base .. 'a:' .. list[at + 2])
    elseif name == 'confirm' then want(base .. 'c:' .. list[1])
    elseif name == 'book' or name == 'settle' then
      local id = base .. 'c:' .. list[1]
      calls[#calls + 1] = id
      want(id)
    end
  end
  fetch(wanted)
  wanted = {}
  for _, id in ipairs(calls) do
    local text = known[id]
    if text and string.byte(text) == HELD then
      local key, account = struct.unpack(WHOSE, text, WHOSE_AT)
      want(base .. 'k:' .. key)
      want(base .. 'a:' .. account)
    end
  end
  fetch(wanted)
end

local function take(name, words)
  local quick = usual[name]
  local reply = quick and quick(words)
  if reply then return reply end
  reply = table.concat(operation[name](unpack(words)), WORD_END)
  commit()
  return reply
end

local function main(keys, argv)
  local text = argv[1]
  local at = begin(keys, text)
  if head.mode == 'found' then return table.concat(found(struct.unpack('ssss', text, at)), REPLY_END) end
  local refused = refusal()
  if refused then return table.concat(refused, REPLY_END) end
  local names, words = operationsOf(text, at)
  -- where arguments are missing, that operation fails, and the others read what they need one by one
  if not pcall(prefetch, names, words) then known = {} end
  local replies = { 'ok' }
  for i, name in ipairs(names) do
    local ok, reply = pcall(take, name, words[i])
    if not ok then
      staged = {}
      reply = table.concat({ 'error', type(reply) == 'table' and reply.err or tostring(reply) }, WORD_END)
    end
    replies[i + 1] = reply
  end
  if changes then call('HSET', base .. 'e', 'n', whole(changes)) end
  write()
  for _, list in pairs(lists) do writeList(list) end
  -- what fails here mends itself: a lease ends, and the next record trims the stream
  for _, slot in pairs(slots) do pcall(writeSlot, slot) end
  for _, minute in pairs(minutes) do pcall(writeMinute, minute) end
  for stream, entries in pairs(grown) do pcall(forgetOldRecords, stream, entries) end
  return table.concat(replies, REPLY_END)
end
