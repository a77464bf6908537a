-- The ledger's operations. One call of main (at the end) executes one batch of them, atomically, on one bucket. All
-- keys of a bucket begin with KEYS[1], which has the hash tag, so that they are in one hash slot.
-- docs/design/valkey.md says which keys there are. Replicas of two versions run side by side during an upgrade: the
-- formats of keys are a contract. The file is loaded as a library of functions or run as a script. In a library these
-- variables outlive a batch, so main sets them for each. A batch is one argument and its replies are one text, both
-- JSON (operations.ts, replies.ts): values have names, and amounts and numbers in replies are text.
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
-- An amount is a number of nano-USD, or from 1.1 million USD on a Large: two limbs, whole USD and nano-USD, of which
-- the lower one is never negative. So `+` and `-` are exact: numbers are below 2^50, and no operation adds up more than
-- eight. The limbs are what is stored.
local LIMB = 1000000000
local MOST_WHOLE = 1125899
local UNLIMITED = 1 / 0
local Large = {}

local function amountOf(high, low)
  if high < MOST_WHOLE and high >= -MOST_WHOLE then return high * LIMB + low end
  return setmetatable({ high, low }, Large)
end
local function limbsOf(amount)
  if amount == 0 then return 0, 0 end
  if type(amount) == 'table' then return amount[1], amount[2] end
  local low = amount % LIMB
  return (amount - low) / LIMB, low
end
function Large.__add(a, b)
  if a == UNLIMITED or b == UNLIMITED then return UNLIMITED end
  local high, low = limbsOf(a)
  local otherHigh, otherLow = limbsOf(b)
  high, low = high + otherHigh, low + otherLow
  if low >= LIMB then return amountOf(high + 1, low - LIMB) end
  return amountOf(high, low)
end
function Large.__unm(a)
  local high, low = a[1], a[2]
  if low == 0 then return amountOf(-high, 0) end
  return amountOf(-high - 1, LIMB - low)
end
function Large.__sub(a, b) return Large.__add(a, -b) end
function Large.__eq(a, b) return a[1] == b[1] and a[2] == b[2] end
local function less(a, b)
  if type(a) == 'number' and type(b) == 'number' then return a < b end
  -- no two limbs are as much as no limit
  if a == UNLIMITED or b == UNLIMITED then return b == UNLIMITED end
  local high, low = limbsOf(a)
  local otherHigh, otherLow = limbsOf(b)
  return high < otherHigh or (high == otherHigh and low < otherLow)
end
local function least(a, b) if less(b, a) then return b end return a end
local function notNegative(a) if less(a, 0) then return 0 end return a end
-- The amount in a decimal text; 0 where there is none.
local function money(text)
  if not text or text == '' then return 0 end
  if #text <= 15 then return tonumber(text) end
  local high, low = tonumber(string.sub(text, 1, -10)), tonumber(string.sub(text, -9))
  if string.byte(text) ~= 45 or low == 0 then return amountOf(high, low) end
  return amountOf(high - 1, LIMB - low)
end
-- The decimal text of an amount that is not negative.
local function digits(amount)
  if type(amount) == 'number' then return whole(amount) end
  return string.format('%d%09d', amount[1], amount[2])
end
-- The decimal text of any amount.
local function decimal(amount)
  if less(amount, 0) then return '-' .. digits(-amount) end
  return digits(amount)
end

-- Values -------------------------------------------------------------------------------------------------------------
-- Balances and calls are read and written once per batch: `known` is as in the store, `changed` as after the operations
-- so far, `staged` what the current operation changes, dropped if it fails. `lives` has the lifetime (ms) of values
-- that expire; balances and holds never do.
local known, changed, staged, lives
-- Sets of calls that the batch changes: by instance, and by slot. `minutes`: what it reads and changes of these.
-- `lost`: the balances and holds that it has found missing.
local lists, slots, minutes, lost
-- The copies that the batch has read, by name; false: there is none.
local copied

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
-- Balances and holds, which are what never expires, are in the store twice, under their names and in one hash: a server
-- that evicts keys, or a DEL, takes one of the two.
local function withoutBase(name) return string.sub(name, #base + 1) end
local function isCall(name) return string.find(name, '^c:', #base + 1) ~= nil end
local function copyOf(name)
  if copied[name] == nil then copied[name] = call('HGET', base .. 'copies', withoutBase(name)) end
  return copied[name]
end
local function fetchCopies(names)
  if #names == 0 then return end
  local fields = {}
  for i, name in ipairs(names) do fields[i] = withoutBase(name) end
  local texts = call('HMGET', base .. 'copies', unpack(fields))
  for i, name in ipairs(names) do copied[name] = texts[i] end
end
local function write()
  local plain, copies, ended = {}, {}, {}
  for name, text in pairs(changed) do
    if lives[text] then
      call('SET', name, text, 'PX', lives[text])
      -- a call that no longer runs
      if isCall(name) then ended[#ended + 1] = withoutBase(name) end
    else
      plain[#plain + 1] = name
      plain[#plain + 1] = text
      copies[#copies + 1] = withoutBase(name)
      copies[#copies + 1] = text
    end
  end
  if #plain > 0 then call('MSET', unpack(plain)) end
  if #copies > 0 then call('HSET', base .. 'copies', unpack(copies)) end
  if #ended > 0 then call('HDEL', base .. 'copies', unpack(ended)) end
end
-- The text of a value that has a copy; nil: there has been none.
local function getCopied(name)
  local text = get(name)
  if text then return text end
  text = copyOf(name)
  if not text then return nil end
  lost[withoutBase(name)] = true
  if head.mode ~= 'read' then put(name, text) end
  return text
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
  return { kind = kind, index = index, spent = spent or 0, held = held or 0, calls = calls or 0 }
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

-- A limit on money: `scope` (Key or Account), `amount` (nil: none), `window` (N: total, D, M), `generation`.
-- The limit of a balance as last seen, and when. A generation that nobody has presented for a while does not count, so
-- that an object that was deleted and created again is not refused for ever. It is packed behind the balance.
local SEEN = '<c1BdddBc0'
-- The character in place of limits that nobody has seen: a dash.
local UNSEEN = 45

local function readSeen(text, at, scope)
  if string.byte(text, at) == UNSEEN then return nil, at + 1 end
  local window, unlimited, high, low, ms, generation, next = struct.unpack(SEEN, text, at)
  return { scope = scope, generation = generation, amount = unlimited == 0 and amountOf(high, low) or nil,
    window = window, ms = ms, text = string.sub(text, at, next - 1) }, next
end
local function writeSeen(seen)
  if not seen then return '-' end
  if seen.text then return seen.text end
  local high, low = limbsOf(seen.amount or 0)
  return struct.pack(SEEN, seen.window, seen.amount and 0 or 1, high, low, seen.ms, #seen.generation, seen.generation)
end

-- A key's balance, packed: day and month (index, spent, held, calls), spent and held in total, last use, change
-- number of the last refill, limits as last seen, past windows.
local KEY = '<I4ddddI4I4ddddI4dddddd'
local PAST = '<c1I4ddddI4'
-- A past window of this kind is the minute of the key's latest mark, if that is within its day. An earlier version
-- keeps it as one with a call.
local LATEST_MARK, MINUTE_MS = 'l', 60000
-- Of most keys; never changed.
local NO_PAST = {}

local function loadKey(uid)
  local name = base .. 'k:' .. uid
  local text = getCopied(name)
  if not text then
    return { name = name, d = window('d', today), m = window('m', thisMonth), total = { spent = 0, held = 0 },
      past = {}, last = 0, refilled = -1 }
  end
  local di, ds, dsl, dh, dhl, dc, mi, ms, msl, mh, mhl, mc, ts, tsl, th, thl, last, refilled, at =
    struct.unpack(KEY, text)
  local key = {
    name = name, known = true,
    d = window('d', di, amountOf(ds, dsl), amountOf(dh, dhl), dc),
    m = window('m', mi, amountOf(ms, msl), amountOf(mh, mhl), mc),
    total = { spent = amountOf(ts, tsl), held = amountOf(th, thl) }, past = NO_PAST, last = last, refilled = refilled,
  }
  key.seen, at = readSeen(text, at, 'Key')
  if at <= #text then key.past = {} end
  while at <= #text do
    local kind, index, s, sl, h, hl, calls
    kind, index, s, sl, h, hl, calls, at = struct.unpack(PAST, text, at)
    if kind == LATEST_MARK then key.marked = index * MINUTE_MS
    else key.past[#key.past + 1] = window(kind, index, amountOf(s, sl), amountOf(h, hl), calls) end
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
  if key.past == NO_PAST then key.past = {} end
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
  local d, m, past = key.d, key.m, ''
  if #key.past > 0 then
    trimPast(key)
    for _, w in ipairs(key.past) do
      local spent, spentLow = limbsOf(w.spent)
      local held, heldLow = limbsOf(w.held)
      past = past .. struct.pack(PAST, w.kind, w.index, spent, spentLow, held, heldLow, w.calls)
    end
  end
  local ds, dsl = limbsOf(d.spent)
  local dh, dhl = limbsOf(d.held)
  local ms, msl = limbsOf(m.spent)
  local mh, mhl = limbsOf(m.held)
  local ts, tsl = limbsOf(key.total.spent)
  local th, thl = limbsOf(key.total.held)
  if key.marked and key.marked > d.index * DAY_MS then
    past = past .. struct.pack(PAST, LATEST_MARK, math.ceil(key.marked / MINUTE_MS), 0, 0, 0, 0, 1)
  end
  put(key.name, struct.pack(KEY, d.index, ds, dsl, dh, dhl, d.calls, m.index, ms, msl, mh, mhl, m.calls,
    ts, tsl, th, thl, key.last, key.refilled) .. writeSeen(key.seen) .. past)
end

-- An account's balance, packed: spent, held, change number of the last refill, limits as last seen, and the moment of
-- its latest mark, which an earlier version drops.
local ACCOUNT = '<ddddd'

local function loadAccount(id)
  local name = base .. 'a:' .. id
  local text = getCopied(name)
  if not text then return { id = id, name = name, spent = 0, held = 0, refilled = -1 } end
  local s, sl, h, hl, refilled, at = struct.unpack(ACCOUNT, text)
  local seen, marked
  seen, at = readSeen(text, at, 'Account')
  if #text >= at + 7 then marked = struct.unpack('<d', text, at) end
  return { id = id, name = name, known = true, spent = amountOf(s, sl), held = amountOf(h, hl), refilled = refilled,
    seen = seen, marked = marked }
end
local function saveAccount(account)
  local spent, spentLow = limbsOf(account.spent)
  local held, heldLow = limbsOf(account.held)
  put(account.name, struct.pack(ACCOUNT, spent, spentLow, held, heldLow, account.refilled) .. writeSeen(account.seen)
    .. (account.marked and struct.pack('<d', account.marked) or ''))
  if not account.known then
    call('SADD', base .. 'accounts', account.id)
    account.known = true
  end
end

-- Calendar windows ---------------------------------------------------------------------------------------------------
-- A key's day and month in UTC are counted above. Other windows are told from totals: a mark has the sums of all calls
-- that were admitted before a moment, so a window has what is between two marks (marks.ts states the rule). The script
-- knows no time zones: an operation names a window, with the beginnings of the one before it, of itself and of the next
-- two. An owner's marks are a value of their own, `w:` and the name of its balance. An ordinary call does not read it:
-- only the first of a day, one whose day in UTC is over, and those of an owner with limits in windows (seen: W).
-- It is packed: the day of its latest call; its windows, each with the time since when all calls have marked it; its
-- limits as last seen; marks (beginning, from when on, spent, held), in the order of `from`.
local WINDOWED = 'W'
local MARK = '<dddddd'
local KEPT_MARKS_MS = 9 * DAY_MS

-- A limit in a list, packed: 1 for an account's and 2 for none, amount, beginning and end of its window, its name ('':
-- the limit is on the total).
local PACKED_LIMIT = '<BddddBc0'
local function packLimit(limit)
  local high, low = limbsOf(limit.amount or 0)
  local kind = (limit.scope == 'Account' and 1 or 0) + (limit.amount and 0 or 2)
  local name = limit.name or ''
  return struct.pack(PACKED_LIMIT, kind, high, low, limit.start or 0, limit.stop or 0, #name, name)
end
local function unpackLimit(text, at)
  local kind, high, low, start, stop, name, next = struct.unpack(PACKED_LIMIT, text, at)
  local limit = { scope = kind % 2 == 1 and 'Account' or 'Key', amount = kind < 2 and amountOf(high, low) or nil,
    window = 'N' }
  if name ~= '' then limit.window, limit.name, limit.start, limit.stop = WINDOWED, name, start, stop end
  return limit, next
end
local function packLimits(limits)
  local texts = { struct.pack('<B', #limits) }
  for i, limit in ipairs(limits) do texts[i + 1] = packLimit(limit) end
  return table.concat(texts)
end
local function unpackLimits(text, at)
  local count, limits = nil, {}
  count, at = struct.unpack('<B', text, at)
  for i = 1, count do limits[i], at = unpackLimit(text, at) end
  return limits, at
end

local function marksOf(owner)
  local marks = owner.marks
  if marks then return marks end
  marks = { day = -1, tracked = {}, seen = {} }
  owner.marks = marks
  local text, at, count = getCopied(base .. 'w:' .. withoutBase(owner.name)), nil, nil
  if not text then return marks end
  marks.day, count, at = struct.unpack('<dB', text)
  for _ = 1, count do
    local since, name
    since, name, at = struct.unpack('<dBc0', text, at)
    marks.tracked[name] = since
  end
  marks.seen, at = unpackLimits(text, at)
  while at <= #text do
    local start, from, s, sl, h, hl
    start, from, s, sl, h, hl, at = struct.unpack(MARK, text, at)
    marks[#marks + 1] = { start = start, from = from, spent = amountOf(s, sl), held = amountOf(h, hl) }
  end
  return marks
end
local function saveMarks(owner)
  local marks, texts = owner.marks, {}
  local count = 0
  for name, since in pairs(marks.tracked) do
    count = count + 1
    texts[count] = struct.pack('<dBc0', since, #name, name)
  end
  texts[#texts + 1] = packLimits(marks.seen)
  for _, mark in ipairs(marks) do
    local s, sl = limbsOf(mark.spent)
    local h, hl = limbsOf(mark.held)
    texts[#texts + 1] = struct.pack(MARK, mark.start, mark.from, s, sl, h, hl)
  end
  put(base .. 'w:' .. withoutBase(owner.name), struct.pack('<dB', marks.day, count) .. table.concat(texts))
end

local function dayStart(ms) return ms - ms % DAY_MS end
local function monthStart(ms)
  local start = dayStart(ms)
  while monthOf(start - DAY_MS) == monthOf(ms) do start = start - DAY_MS end
  return start
end

local function findMark(marks, start)
  for _, mark in ipairs(marks) do if mark.start == start then return mark end end
  return nil
end
-- What a key or an account has spent and holds in total.
local function totalsOf(owner) return owner.total or owner end
-- The first mark from a moment on; where there is none, the totals.
local function firstFrom(owner, ms)
  for _, mark in ipairs(marksOf(owner)) do if mark.from >= ms then return mark end end
  local totals = totalsOf(owner)
  return { from = ms, spent = totals.spent, held = totals.held }
end
local function insertMark(marks, mark)
  local place = #marks + 1
  while place > 1 and marks[place - 1].from > mark.from do place = place - 1 end
  table.insert(marks, place, mark)
end
-- `isExact`: no call was admitted since `start`, unless a later mark says so. Returns whether there is a new mark.
local function markAt(owner, start, isExact)
  local marks = marksOf(owner)
  if findMark(marks, start) then return false end
  local known = firstFrom(owner, isExact and start or dayStart(start))
  insertMark(marks, { start = start, from = isExact and start or known.from, spent = known.spent, held = known.held })
  return true
end
-- Drops old marks that no window needs any more: a month may begin a day from its beginning in UTC.
local function trimMarks(owner)
  local marks, month = owner.marks, monthStart(now)
  local previous = monthStart(month - DAY_MS)
  local kept, before = { day = marks.day, tracked = marks.tracked, seen = marks.seen }, 0
  for _, mark in ipairs(marks) do
    local function isNear(ms) return before < ms + DAY_MS and mark.from >= ms - DAY_MS end
    if mark.from >= now - KEPT_MARKS_MS or isNear(month) or isNear(previous) then kept[#kept + 1] = mark end
    before = mark.from
  end
  owner.marks = kept
end
local function markDay(owner)
  local marks, totals, day = marksOf(owner), totalsOf(owner), today * DAY_MS
  marks.day = day
  -- an earlier version has spent something without marks
  if #marks == 0 and (totals.spent ~= 0 or totals.held ~= 0) then
    insertMark(marks, { start = day, from = now, spent = totals.spent, held = totals.held })
  else
    markAt(owner, day, true)
  end
  trimMarks(owner)
end
-- Whether every call in the limit's window has made its mark.
local function isTracked(marks, limit)
  local since = marks.tracked[limit.name]
  return since and limit.start >= since
end
-- Makes the marks of a call that is admitted now under these limits of the owner.
local function mark(owner, limits)
  local changed = false
  if marksOf(owner).day ~= today * DAY_MS then
    markDay(owner)
    changed = true
  end
  local marks, tracked = owner.marks, {}
  for _, limit in ipairs(limits) do
    if limit.name and markAt(owner, limit.start, isTracked(marks, limit)) then changed = true end
  end
  -- calls of a clock that was set back since are of no use
  local latest = marks[#marks].from
  local since = latest > now and dayStart(latest) + DAY_MS or now
  for _, limit in ipairs(limits) do
    if limit.name then
      tracked[limit.name] = marks.tracked[limit.name] or since
      changed = changed or not marks.tracked[limit.name]
    end
  end
  for name in pairs(marks.tracked) do changed = changed or not tracked[name] end
  marks.tracked = tracked
  owner.marked, owner.hasNewMarks = latest, changed
  if changed then saveMarks(owner) end
end
local function sumsIn(owner, limit)
  local marks = marksOf(owner)
  local from = findMark(marks, limit.start) or
    firstFrom(owner, isTracked(marks, limit) and limit.start or dayStart(limit.start))
  local till = firstFrom(owner, limit.stop)
  -- a mark that was refilled may lack what the calls before it hold
  local held = least(till.held - from.held, totalsOf(owner).held)
  return { spent = till.spent - from.spent, held = notNegative(held) }
end
-- Corrects the marks after the admission of a call whose spending or hold changes.
local function moveBefore(owner, admitted, spent, held)
  local marks, changed = marksOf(owner), false
  for i = #marks, 1, -1 do
    local mark = marks[i]
    if mark.from <= admitted then break end
    mark.spent, mark.held, changed = mark.spent + spent, mark.held + held, true
  end
  if changed then saveMarks(owner) end
end
local function isWindowed(owner) return owner.seen and owner.seen.window == WINDOWED end
-- Whether a day after this one has begun for the key.
local function isOver(key, day)
  if key.d.index ~= day then return true end
  for _, w in ipairs(key.past) do if w.kind == 'd' and w.index > day then return true end end
  return false
end
-- The same for a call's key and account. `call`: when it was admitted, and its day.
local function moveMarks(key, account, call, spent, held)
  if isOver(key, call.day) or (key.marked and key.marked > call.admitted) then
    moveBefore(key, call.admitted, spent, held)
  end
  if not account.marked or account.marked > call.admitted then moveBefore(account, call.admitted, spent, held) end
end

-- Selects a limit's window at a moment from those that its process gives.
local function select(limit, ms)
  local edges = limit.edges
  for i = 1, #edges - 1 do
    if ms >= edges[i] and ms < edges[i + 1] then
      limit.start, limit.stop = edges[i], edges[i + 1]
      return
    end
  end
  error('the clocks of a gateway and of the store differ by more than a day')
end

local function tallyOf(limit, key, account, day, month)
  if limit.name then return sumsIn(limit.scope == 'Account' and account or key, limit) end
  if limit.scope == 'Account' then return account end
  if limit.window == 'D' then return day end
  if limit.window == 'M' then return month end
  return key.total
end
-- What is free under a limit; negative where more is spent and held than it allows.
local function under(limit, tally)
  if not limit then return UNLIMITED end
  return limit - tally.spent - tally.held
end

local function isOlder(generation, seen)
  if not seen or now - seen.ms > head.generationMs then return false end
  local other = seen.generation
  return #generation < #other or (#generation == #other and generation < other)
end
local function sameLimit(a, b) return a.window == b.window and a.amount == b.amount end
local function limitsOf(limits, scope)
  local own = {}
  for _, limit in ipairs(limits) do if limit.scope == scope then own[#own + 1] = limit end end
  return own
end
local function sameLimits(some, others)
  if #some ~= #others then return false end
  for i, limit in ipairs(some) do
    if not sameLimit(limit, others[i]) or limit.name ~= others[i].name then return false end
  end
  return true
end
-- The limits of an owner as last seen: one, or the list that is with its marks.
local function seenLimits(owner)
  if not owner.seen then return {} end
  local list = isWindowed(owner) and marksOf(owner).seen or {}
  return #list > 0 and list or { owner.seen }
end
-- Processes that read manifests from files count generations for themselves (lenient): an older generation with the
-- same limits is not stale there.
local function isStale(limit, owner, limits)
  if not isOlder(limit.generation, owner.seen) then return false end
  return not (head.lenient and sameLimits(seenLimits(owner), limitsOf(limits, limit.scope)))
end
-- The limits to remember: the same table where nothing is new, so that the balance is not written for it.
local function seeing(seen, limit)
  if seen and isOlder(limit.generation, seen) then return seen end
  local same = seen and seen.generation == limit.generation and sameLimit(seen, limit)
  if same and now >= seen.ms and now - seen.ms <= SEEN_AGAIN_MS then return seen end
  return { scope = limit.scope, generation = limit.generation, amount = limit.amount, window = limit.window, ms = now }
end
-- Several limits of one owner, or one in a window, are seen as their first; the list is with the owner's marks.
local function seeList(owner, list)
  local first = list[1]
  owner.seen = seeing(owner.seen,
    { scope = first.scope, amount = first.amount, window = WINDOWED, generation = first.generation })
  if owner.seen.generation ~= first.generation then return end
  local marks = marksOf(owner)
  local isSame = sameLimits(marks.seen, list)
  for i, limit in ipairs(list) do isSame = isSame and (marks.seen[i].start == limit.start) end
  if isSame then return end
  marks.seen = list
  saveMarks(owner)
end
-- A limit on the total, or of a key's day or month in UTC. Calls without limits in windows mark none, so that a limit
-- that comes back does not know of every call since it was there.
local function seeOne(owner, limit)
  local wasWindowed = isWindowed(owner)
  owner.seen = seeing(owner.seen, limit)
  if not wasWindowed or isWindowed(owner) then return end
  marksOf(owner).tracked = {}
  saveMarks(owner)
end
local function see(limits, owners)
  for scope, owner in pairs(owners) do
    local list = limits.listed and limitsOf(limits, scope) or {}
    if #list > 1 or (list[1] and list[1].name) then seeList(owner, list)
    elseif list[1] then seeOne(owner, list[1]) end
  end
  if limits.listed then return end
  for _, limit in ipairs(limits) do seeOne(owners[limit.scope], limit) end
end

-- What is free under all limits, and the index of the first that leaves least. `own`: what the call itself holds.
local function tightest(limits, own, key, account, day, month)
  local free, tight = UNLIMITED, nil
  for i, limit in ipairs(limits) do
    local left = under(limit.amount, tallyOf(limit, key, account, day, month))
    if limit.amount then left = left + own end
    if not tight or less(left, free) then free, tight = left, i end
  end
  return free, tight
end

-- What is free beyond a call's hold: under the limits that it was admitted with, and under later ones.
local function freeFor(hold, key, account, day, month)
  local free = tightest(hold.spending, 0, key, account, day, month)
  for _, owner in ipairs({ key, account }) do
    for _, seen in ipairs(seenLimits(owner)) do
      -- of limits in windows, those that were seen in the call's own window
      if not seen.name or (hold.admitted >= seen.start and hold.admitted < seen.stop) then
        free = least(free, tightest({ seen }, 0, key, account, day, month))
      end
    end
  end
  return free
end

local function moveAll(tallies, field, amount)
  for i = 1, #tallies do
    local tally = tallies[i]
    tally[field] = tally[field] + amount
  end
end
-- A store that was refilled may have less than what was spent, so it is never more than all.
local function giveBack(tallies, amount)
  for _, tally in ipairs(tallies) do tally.spent = notNegative(tally.spent - amount) end
end

-- Calls and records --------------------------------------------------------------------------------------------------
-- A call is one value, whose first letter is its state. H: it runs, followed by its hold. S: settled, the pointer to
-- its record. R: reaped, its hold with the pointer, since its process may still settle it. W: withdrawn; a later hold
-- is refused. W with a hold: the reaper found it unconfirmed and dropped it; it holds nothing, and its process may
-- still settle it.
local HELD = 72

-- A hold is JSON, in which amounts are decimal text: `key`, `account`, `instance`, `createdMs` and `admitted` (when its
-- process and the store had the call), `day` and `month` (their indexes), `renewedMs` (its latest progress), `amount`,
-- `spending` (the limits on money that it was admitted with), and what the call costs so far: `cost`, `route`,
-- `tokens`.
local function encodeHold(hold)
  local limits = {}
  for i, limit in ipairs(hold.spending) do
    limits[i] = { scope = limit.scope, amount = limit.amount and decimal(limit.amount), window = limit.window,
      name = limit.name, start = limit.start, stop = limit.stop }
  end
  return cjson.encode({ key = hold.key, account = hold.account, instance = hold.instance, createdMs = hold.createdMs,
    admitted = hold.admitted, day = hold.day, month = hold.month, renewedMs = hold.renewedMs,
    amount = decimal(hold.amount), spending = limits, cost = hold.cost, route = hold.route, tokens = hold.tokens,
    pointer = hold.pointer })
end
local function decodeHold(text)
  local hold = cjson.decode(text)
  hold.amount = money(hold.amount)
  for _, limit in ipairs(hold.spending) do limit.amount = limit.amount and money(limit.amount) end
  return hold
end

local holdIn
do
  -- The hold of an earlier version, packed: its amount, its limits (of the key, and 1 for none; of the account; the
  -- key's window), the indexes of the day and the month, when the call came and its progress was recorded, key,
  -- account, instance, cost so far, route, and tokens so far. Then, where it is there: when it was admitted, and the
  -- limits that are in no place above (a key's in a window of a calendar, for which W is above, and others of the
  -- account).
  local EARLIER_HOLD = '<ddddBddc1I4I4ddI2c0I2c0I2c0I2c0I2c0I2c0'
  local EARLIER_ADMITTED = '<dB'

  local function unpackHold(text, at)
    local amount, amountLow, limit, limitLow, unlimited, credit, creditLow, window, day, month, createdMs, renewedMs,
      key, account, instance, cost, route, tokens, next = struct.unpack(EARLIER_HOLD, text, at)
    local spending = {
      { scope = 'Key', amount = unlimited == 0 and amountOf(limit, limitLow) or nil, window = window },
      { scope = 'Account', amount = amountOf(credit, creditLow), window = 'N' },
    }
    local admitted, count = createdMs, 0
    if next <= #text then admitted, count = struct.unpack(EARLIER_ADMITTED, text, next) end
    if count > 0 then
      -- a key has one limit
      for _, other in ipairs((unpackLimits(text, next + 8))) do
        spending[other.scope == 'Key' and 1 or #spending + 1] = other
      end
    end
    return {
      amount = amountOf(amount, amountLow), spending = spending, admitted = admitted, day = day, month = month,
      createdMs = createdMs, renewedMs = renewedMs, key = key, account = account, instance = instance, cost = cost,
      route = route, tokens = tokens,
    }
  end

  -- The hold in the value of a call.
  function holdIn(text)
    if string.sub(text, 2, 2) == '{' then return decodeHold(string.sub(text, 2)) end
    if string.sub(text, 1, 1) ~= 'R' then return unpackHold(text, 2) end
    local pointer, at = struct.unpack('<I2c0', text, 2)
    local hold = unpackHold(text, at)
    hold.pointer = pointer
    return hold
  end
end

-- Holds that prefetch has decoded, by their call's text. An operation takes its hold out, since it may change it.
local decoded
local function takeHold(text)
  local hold = decoded[text] or holdIn(text)
  decoded[text] = nil
  return hold
end

-- A call's state (a letter, or nil), its hold, and the pointer to its record.
local function loadCall(id)
  local text = getCopied(base .. 'c:' .. id)
  if not text then return nil end
  local state = string.sub(text, 1, 1)
  if state == 'S' then return state, nil, string.sub(text, 2) end
  if #text == 1 then return state end
  local hold = takeHold(text)
  return state, hold, hold.pointer
end
local function saveHold(id, hold) put(base .. 'c:' .. id, 'H' .. encodeHold(hold)) end

-- The fields of a record in its stream, separated by tabs.
local RECORD = { 'call', 'key', 'createdMs', 'route', 'tokens', 'cost', 'unbilled', 'status', 'durationMs', 'keySpent',
  'keyRemaining' }

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
  if hold then hold.pointer = pointer end
  local state = hold and 'R' .. encodeHold(hold) or 'S' .. pointer
  lives[state] = head.keepMs
  put(base .. 'c:' .. record.call, state)
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

-- What the record of a call says of its key's quota.
local function quotaOf(hold, key, day, month)
  local quota = limitsOf(hold.spending, 'Key')[1]
  local spent = tallyOf(quota, key, nil, day, month).spent
  return digits(spent), quota.amount and digits(notNegative(quota.amount - spent)) or '-'
end

-- Numbers the changes of what is spent. Written once per batch.
local function count()
  changes = (changes or tonumber(epoch[4] or '0')) + 1
  return changes
end

local function markOf(n, day, month) return whole(n) .. ',' .. whole(day.index) .. ',' .. whole(month.index) end

-- What was spent before the windows of the limits that were seen last, for the journal, as text: owner (k or a),
-- beginning, from when on, spent; and the next.
local function tellMarks(owners)
  local texts = {}
  for letter, owner in pairs(owners) do
    for _, limit in ipairs(seenLimits(owner)) do
      local mark = limit.name and findMark(marksOf(owner), limit.start)
      if mark then
        texts[#texts + 1] = table.concat({ letter, whole(mark.start), whole(mark.from), digits(mark.spent) }, ',')
      end
    end
  end
  return table.concat(texts, ';')
end
-- Adds the balances after a change to the reply with its record, for the journal.
local function addBalances(reply, account, key, day, month)
  reply.accountSpent, reply.totalSpent = digits(account.spent), digits(key.total.spent)
  reply.daySpent, reply.monthSpent = digits(day.spent), digits(month.spent)
  reply.day, reply.month = whole(day.index), whole(month.index)
  if isWindowed(key) or isWindowed(account) then reply.marks = tellMarks({ k = key, a = account }) end
  return reply
end
-- The reply with a new record.
local function settled(record, key, account, day, month)
  record.is, record.account, record.change = 'settled', account.id, whole(record.change)
  record.mark, record.streamId = nil, nil
  return addBalances(record, account, key, day, month)
end

local function queuedAs(channel, id) return channel .. '\n' .. id end
local function jobName(queued) return base .. 'j:' .. queued end
-- A job is a hash. Its fields in the store have the names of earlier versions. `day`, `month` and `admitted` are those
-- of the call that created it, `cost` is what it was charged, and `tokens` has the terms of its bill while it runs.
local JOB = { id = 'id', channel = 'ch', call = 'i', key = 'k', account = 'A', createdMs = 't', route = 'o',
  tokens = 'p', state = 's', cost = 'c', day = 'd', month = 'm', admitted = 'a' }

-- The job with its place in the queue; nil: there is none.
local function loadJob(queued)
  local stored, exists = hash(jobName(queued))
  if not exists then return nil end
  local job = { queued = queued }
  for name, field in pairs(JOB) do job[name] = stored[field] end
  job.day, job.month, job.admitted = tonumber(job.day), tonumber(job.month), tonumber(job.admitted or job.createdMs)
  return job
end
local function saveJob(job)
  local fields = {}
  for name, field in pairs(JOB) do
    local value = job[name]
    fields[#fields + 1] = field
    fields[#fields + 1] = type(value) == 'number' and whole(value) or value
  end
  call('HSET', jobName(job.queued), unpack(fields))
end

-- Fails where addJob would. Called before anything that cannot be undone.
local function seeJobs() call('ZCARD', base .. 'jq') end
local function addJob(job, record, account, day, month, admitted)
  local queued = queuedAs(job.channel, job.id)
  if call('EXISTS', jobName(queued)) == 1 then return end
  saveJob({ queued = queued, id = job.id, channel = job.channel, call = record.call, key = record.key,
    account = account, createdMs = record.createdMs, route = record.route, tokens = record.tokens, state = 'Running',
    cost = record.cost, day = day, month = month, admitted = admitted })
  call('PEXPIRE', jobName(queued), head.keepMs)
  call('SET', base .. 'jk:' .. record.key .. '\n' .. job.id, job.channel, 'PX', head.keepMs)
  call('ZADD', base .. 'jq', whole(job.pollMs), queued)
  -- the running jobs of a key, by the time at which they are forgotten
  local running = base .. 'jr:' .. record.key
  call('ZADD', running, whole(now + head.keepMs), queued)
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

-- Fills in what the record of a call says of it.
local function describe(record, id, hold, billed, cost, key, day, month)
  record.call, record.key, record.createdMs = id, hold.key, whole(hold.createdMs)
  record.cost, record.unbilled = digits(billed), digits(cost - billed)
  record.keySpent, record.keyRemaining = quotaOf(hold, key, day, month)
  record.change = count()
  record.mark = markOf(record.change, day, month)
end

-- Replaces a hold by its cost.
local function bookHold(id, hold, cost, record, reaped)
  local key, account = loadKey(hold.key), loadAccount(hold.account)
  local day, month = openWindow(key, 'd', hold.day), openWindow(key, 'm', hold.month)
  local tallies, own = { day, month, key.total, account }, hold.amount
  local billed = cost
  if less(own, cost) then billed = least(cost, own + notNegative(freeFor(hold, key, account, day, month))) end
  for i = 1, 4 do
    local tally = tallies[i]
    tally.held, tally.spent = tally.held - own, tally.spent + billed
  end
  moveMarks(key, account, hold, billed, -own)
  day.calls, month.calls = day.calls - 1, month.calls - 1
  saveKey(key)
  saveAccount(account)
  hold.amount = 0
  listsOf(hold.instance)
  describe(record, id, hold, billed, cost, key, day, month)
  writeRecord(account.id, record, reaped and hold)
  -- last, as it cannot be undone: a call that is in no list is never reaped
  strike(hold.instance, id)
  return key, account, day, month
end

-- Settles a call that was reaped: the difference is taken from what is free, or given back.
local function settleLate(id, hold, cost, record, before)
  local key, account = loadKey(hold.key), loadAccount(hold.account)
  local day, month = openWindow(key, 'd', hold.day), openWindow(key, 'm', hold.month)
  local tallies, billed = { day, month, key.total, account }, money(before.cost)
  if less(billed, cost) then
    local more = least(cost - billed, notNegative(freeFor(hold, key, account, day, month)))
    moveAll(tallies, 'spent', more)
    billed = billed + more
  else
    giveBack(tallies, billed - cost)
    billed = cost
  end
  moveMarks(key, account, hold, billed - money(before.cost), 0)
  saveKey(key)
  saveAccount(account)
  describe(record, id, hold, billed, cost, key, day, month)
  record.account, record.streamId = account.id, before.streamId
  replaceRecord(record)
  return key, account, day, month
end

local function enter(kind, id, hold, amount, key, account, day, month, previous)
  local tallies = { day, month, key.total, account }
  if previous then moveAll(tallies, 'held', -previous.amount)
  else day.calls, month.calls = day.calls + 1, month.calls + 1 end
  moveAll(tallies, 'held', amount)
  hold.account, hold.instance, hold.amount = account.id, head.instance, amount
  hold.day, hold.month, hold.renewedMs = day.index, month.index, now
  moveMarks(key, account, hold, 0, amount - (previous and previous.amount or 0))
  key.last = now
  saveKey(key)
  saveAccount(account)
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

-- Limits: `id`, `most`, and `take`, what the call takes by the minute; none: a slot.
-- Returns the reply about the first limit that is full: its index (from 0), and of a minute what is left and after how
-- many milliseconds there is enough; nil: none is full.
local function firstFull(id, limits)
  for i, limit in ipairs(limits) do
    if not limit.take then
      if isFull(id, slotOf(limit.id), limit.most) then return { is = 'full', index = whole(i - 1) } end
    else
      local minute = minuteOf(limit.id)
      local wait = waitMs(minute, limit.take, limit.most)
      if wait ~= 0 then
        local left = whole(math.max(0, limit.most - minute.sum))
        return { is = 'full', index = whole(i - 1), left = left, retryMs = whole(wait) }
      end
    end
  end
  return nil
end
-- Adds to the reply in which second the limits by the minute were taken, what is left of each and when it is empty.
local function enterLimits(id, limits, reply)
  local till, second = whole(now + head.leaseMs), math.floor(now / 1000)
  for _, limit in ipairs(limits) do
    if not limit.take then
      local slot = slotOf(limit.id)
      slot.changes[id], slot.most = till, slot.most + 1
    else
      local minute = minuteOf(limit.id)
      addToSecond(minute, second, limit.take)
      local last = minute.seconds[#minute.seconds]
      reply.second, reply.states = whole(second), reply.states or {}
      reply.states[#reply.states + 1] =
        { left = whole(math.max(0, limit.most - minute.sum)), resetMs = whole(last and msUntil(last) or 0) }
    end
  end
  return reply
end

-- Operations ---------------------------------------------------------------------------------------------------------
-- Each takes its values by name (operations.ts) and returns a reply; `is` names the reply's kind (replies.ts).
local operation = {}
local OK = { is = 'ok' }

-- The limits on money of an operation. In a journal of an earlier version they are not a list.
-- `ms`: selects the windows. `listed`: there are others than a key's quota in UTC and a credit.
local function spendingOf(asked, ms)
  if not asked.spending then
    return { { scope = 'Key', amount = asked.limit and money(asked.limit), window = asked.period },
      { scope = 'Account', amount = money(asked.credit), window = 'N' } }
  end
  local limits = asked.spending
  for _, limit in ipairs(limits) do
    limit.amount = limit.amount and money(limit.amount)
    if limit.edges then
      select(limit, ms)
      limits.listed = true
    end
  end
  limits.listed = limits.listed or #limits > 2
  return limits
end

-- Holds money for a call. Several holds of one call replace each other.
local function hold(asked)
  local state, previous = loadCall(asked.call)
  if state and state ~= 'H' then return { is = 'over' } end
  if previous and (previous.key ~= asked.key or previous.account ~= asked.account) then return { is = 'other' } end
  local key, account = loadKey(asked.key), loadAccount(asked.account)
  local admitted = previous and previous.admitted or now
  local limits = spendingOf(asked, admitted)
  local isNewDay = not key.known or key.d.index ~= today
  -- the first hold of a call has marked its windows
  if not previous then
    turn(key, 'd', today)
    turn(key, 'm', thisMonth)
  end
  local keySeen, accountSeen = key.seen, account.seen
  local owners = { Key = key, Account = account }
  for _, limit in ipairs(limits) do
    if isStale(limit, owners[limit.scope], limits) then return { is = 'stale' } end
  end
  see(limits, owners)
  if not previous then
    if isNewDay or limits.listed or isWindowed(key) then mark(key, limitsOf(limits, 'Key')) end
    if not account.marked or dayOf(account.marked) ~= today or limits.listed or isWindowed(account) then
      mark(account, limitsOf(limits, 'Account'))
    end
  end
  local day, month = key.d, key.m
  if previous then day, month = openWindow(key, 'd', previous.day), openWindow(key, 'm', previous.month) end
  local free, tight = tightest(limits, previous and previous.amount or 0, key, account, day, month)
  -- a call that costs nothing needs no money
  local granted = asked.amount == '0' and 0 or least(money(asked.amount), free)
  if less(granted, money(asked.minimum)) or less(granted, 0) then
    if key.seen ~= keySeen or key.hasNewMarks then saveKey(key) end
    if account.seen ~= accountSeen or account.hasNewMarks then saveAccount(account) end
    local spent = tallyOf(limits[tight], key, account, day, month).spent
    return { is = 'short', index = whole(tight - 1), available = digits(notNegative(free)), spent = digits(spent),
      admitted = whole(admitted) }
  end
  local held = { key = asked.key, createdMs = asked.createdMs, route = asked.route, spending = limits,
    admitted = admitted, cost = asked.cost, tokens = asked.tokens }
  enter('u', asked.call, held, granted, key, account, day, month, previous)
  return { is = 'held', amount = digits(granted), day = whole(day.index), month = whole(month.index),
    admitted = whole(admitted) }
end
-- Limits and money: both, or neither.
function operation.admit(asked)
  local limits = asked.limits or {}
  local full = firstFull(asked.call, limits)
  if full then return full end
  local reply = hold(asked)
  return reply.is == 'held' and enterLimits(asked.call, limits, reply) or reply
end

-- Gives back what a hold holds. `text`: the call's state from now on.
local function dropHold(id, held, text)
  local key, account = loadKey(held.key), loadAccount(held.account)
  local day, month = openWindow(key, 'd', held.day), openWindow(key, 'm', held.month)
  moveAll({ day, month, key.total, account }, 'held', -held.amount)
  moveMarks(key, account, held, 0, -held.amount)
  day.calls, month.calls = day.calls - 1, month.calls - 1
  saveKey(key)
  saveAccount(account)
  held.amount = 0
  text = text or 'W' .. encodeHold(held)
  lives[text] = DEDUP_MS
  put(base .. 'c:' .. id, text)
  strike(held.instance, id)
end
-- Undoes a hold that was not answered, also one that arrives later from a slower connection.
function operation.withdraw(asked)
  local id = asked.call
  local state, held = loadCall(id)
  if state == 'H' then dropHold(id, held, 'W')
  elseif not state or state == 'W' then
    lives.W = DEDUP_MS
    put(base .. 'c:' .. id, 'W')
  end
  return OK
end

-- The instance knows of this hold: if it dies, its call is billed.
local function noteKnown(id)
  local confirmed, unconfirmed = listsOf(head.instance)
  confirmed.changes[id], unconfirmed.changes[id] = true, false
end
function operation.confirm(asked)
  local text = getCopied(base .. 'c:' .. asked.call)
  if text and string.byte(text) == HELD then noteKnown(asked.call) end
  return OK
end

-- Remembers the limits in force.
function operation.limits(asked)
  local key, account = loadKey(asked.key), loadAccount(asked.account)
  if not key.known or not account.known then return OK end
  see(spendingOf(asked, now), { Key = key, Account = account })
  saveKey(key)
  saveAccount(account)
  return OK
end

function operation.progress(asked)
  local state, held = loadCall(asked.call)
  if state ~= 'H' then return OK end
  held.cost, held.tokens, held.renewedMs = asked.cost, asked.tokens, now
  saveHold(asked.call, held)
  -- a list that the store has lost has the call again
  noteKnown(asked.call)
  return OK
end

-- The reply to a repeated settlement: the record, the latest balances with the number of the latest change, and
-- `billedBy`, the number of the change that billed it. A record of an earlier version has no such number.
local function settledBefore(record)
  record.is = 'done'
  local change, d, m = string.match(record.mark or '', '^(%d+),(%d+),(%d+)$')
  record.mark, record.streamId = nil, nil
  if not change then return record end
  local key, account = loadKey(record.key), loadAccount(record.account)
  local day = findWindow(key, 'd', tonumber(d)) or window('d', tonumber(d))
  local month = findWindow(key, 'm', tonumber(m)) or window('m', tonumber(m))
  record.change, record.billedBy = whole(changes or tonumber(epoch[4] or '0')), change
  return addBalances(record, account, key, day, month)
end

-- A dropped hold is settled like one that holds nothing.
local function reviveHold(held)
  local key = loadKey(held.key)
  local day, month = openWindow(key, 'd', held.day), openWindow(key, 'm', held.month)
  day.calls, month.calls = day.calls + 1, month.calls + 1
  saveKey(key)
end

-- Replaces a call's hold by its cost, once, and releases its slots. With `job`, the call has created a job.
function operation.settle(asked)
  local id, job = asked.call, asked.job
  for _, slot in ipairs(asked.slots or {}) do leave(slot, id) end
  local state, held, pointer = loadCall(id)
  if not state or (state == 'W' and not held) then return { is = 'unknown' } end
  local before = pointer and readRecord(pointer)
  if pointer and not before then return { is = 'forgotten' } end
  if state == 'S' then return settledBefore(before) end
  local record = { tokens = asked.tokens, route = asked.route, status = asked.status,
    durationMs = whole(asked.durationMs) }
  local key, account, day, month
  if job then seeJobs() end
  if state == 'W' then reviveHold(held) end
  if before then key, account, day, month = settleLate(id, held, money(asked.cost), record, before)
  else key, account, day, month = bookHold(id, held, money(asked.cost), record) end
  if job then addJob(job, record, account.id, held.day, held.month, held.admitted) end
  return settled(record, key, account, day, month)
end

-- The client of this settled call got no response. The reply is the one to a repeated settlement.
function operation.withhold(asked)
  local state, _, pointer = loadCall(asked.call)
  local record = state == 'S' and readRecord(pointer)
  if not record then return { is = 'unknown' } end
  record.status = 'Withheld'
  replaceRecord(record)
  return settledBefore(record)
end

-- Bills the holds of dead instances at their last progress and drops those that they have not confirmed, at most so
-- many. `more`: there are others.
function operation.reap(asked)
  local left, records = asked.most, {}
  local function reply(more) return { is = 'reaped', more = more, records = #records > 0 and records or nil } end
  local seen = call('HGETALL', base .. 'i')
  for i = 1, #seen, 2 do
    local instance, ms = seen[i], tonumber(string.match(seen[i + 1], '^%d+'))
    if now - ms > head.leaseMs and instance ~= head.instance then
      local ids = call('SMEMBERS', base .. 'o:' .. instance)
      table.sort(ids)
      for _, id in ipairs(ids) do
        if left == 0 then return reply('1') end
        local state, held = loadCall(id)
        if state == 'H' then
          local durationMs = whole(math.max(0, held.renewedMs - held.createdMs))
          local record = { tokens = held.tokens, route = held.route, status = 'Abandoned', durationMs = durationMs }
          records[#records + 1] = settled(record, bookHold(id, held, money(held.cost), record, true))
          commit()
          left = left - 1
        else
          strike(instance, id)
        end
      end
      for _, id in ipairs(call('SMEMBERS', base .. 'u:' .. instance)) do
        if left == 0 then return reply('1') end
        local state, held = loadCall(id)
        if state == 'H' then dropHold(id, held) else strike(instance, id) end
        commit()
        left = left - 1
      end
      if now - ms > INSTANCE_MS then call('HDEL', base .. 'i', instance) end
    end
  end
  return reply()
end

function operation.take(asked)
  return firstFull(asked.call, asked.limits) or enterLimits(asked.call, asked.limits, { is = 'taken' })
end
-- Corrects what a call took in a second to what it has used.
function operation.correct(asked)
  addToSecond(minuteOf(asked.counter), tonumber(asked.second), asked.amount)
  return OK
end
function operation.give(asked)
  for _, slot in ipairs(asked.slots) do leave(slot, asked.call) end
  return OK
end
-- Renews leases. `restores`: also those that the store has lost.
function operation.keep(asked)
  local slot, till, args = slotOf(asked.slot), whole(now + head.leaseMs), {}
  writeSlot(slot)
  for _, id in ipairs(asked.calls) do args[#args + 1] = till args[#args + 1] = id end
  if asked.restores then call('ZADD', slot.name, unpack(args)) else call('ZADD', slot.name, 'XX', unpack(args)) end
  call('PEXPIRE', slot.name, SLOT_KEY_MS)
  slot.most = nil
  return OK
end

-- Does nothing: every batch tells that its instance is alive.
function operation.beat() return OK end

-- Reading
local function tellWindows(owner, limits)
  if not limits then return nil end
  local told = {}
  for i, limit in ipairs(limits) do
    select(limit, now)
    local sums = sumsIn(owner, limit)
    told[i] = { start = whole(limit.start), stop = whole(limit.stop), spent = digits(notNegative(sums.spent)),
      held = digits(sums.held) }
  end
  return told
end
function operation.key(asked)
  local key = loadKey(asked.key)
  local day, month = findWindow(key, 'd', today) or window('d', 0), findWindow(key, 'm', thisMonth) or window('m', 0)
  return {
    is = key.known and 'key' or 'none', now = whole(now), lastUsed = key.last > 0 and whole(key.last) or nil,
    totalSpent = digits(key.total.spent), totalHeld = digits(notNegative(key.total.held)),
    daySpent = digits(day.spent), dayHeld = digits(notNegative(day.held)),
    monthSpent = digits(month.spent), monthHeld = digits(notNegative(month.held)),
    windows = tellWindows(key, asked.windows),
  }
end
function operation.account(asked)
  local account = loadAccount(asked.account)
  return { is = 'account', spent = digits(account.spent), held = digits(notNegative(account.held)),
    windows = tellWindows(account, asked.windows) }
end
function operation.usage(asked)
  local state, held, pointer = loadCall(asked.call)
  local record = pointer and readRecord(pointer)
  if record then
    record.is, record.mark, record.streamId = 'done', nil, nil
    return record
  end
  if state ~= 'H' then return { is = 'none' } end
  return {
    is = 'running', account = held.account, call = asked.call, key = held.key, createdMs = whole(held.createdMs),
    route = held.route, tokens = held.tokens, cost = held.cost, unbilled = '0', status = 'Running',
    durationMs = whole(math.max(0, now - held.createdMs)), keySpent = '0', keyRemaining = '-',
  }
end

-- Jobs
local function tellJob(job)
  return { is = 'job', job = job.id, state = job.state, account = job.account, call = job.call, key = job.key,
    createdMs = job.createdMs, route = job.route, tokens = job.tokens }
end

function operation.job(asked)
  local channel = call('GET', base .. 'jk:' .. asked.key .. '\n' .. asked.job)
  if not channel then return { is = 'none' } end
  local job = loadJob(queuedAs(channel, asked.job))
  if not job or job.key ~= asked.key then return { is = 'none' } end
  return tellJob(job)
end
function operation.channelJob(asked)
  local job = loadJob(queuedAs(asked.channel, asked.job))
  if not job or job.account ~= asked.account then return { is = 'none' } end
  return tellJob(job)
end
function operation.runningJobs(asked)
  local running = base .. 'jr:' .. asked.key
  call('ZREMRANGEBYSCORE', running, '-inf', whole(now))
  return { is = 'count', count = whole(call('ZCARD', running)) }
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
function operation.keepConversation(asked)
  local account, id = asked.account, asked.id
  local bytes, sum, ends = conversationsOf(account)
  for _, old in ipairs(call('ZRANGEBYSCORE', ends, '-inf', whole(now))) do forgetConversation(account, old) end
  local count = call('HLEN', bytes) + 1 - call('HEXISTS', bytes, id)
  local total = tonumber(call('GET', sum) or 0) + asked.bytes
  if count > asked.most or total > asked.mostBytes then return { is = 'full' } end
  call('HINCRBY', bytes, id, whole(asked.bytes))
  call('SET', sum, whole(total))
  if asked.untilMs then call('ZADD', ends, whole(asked.untilMs), id) else call('ZREM', ends, id) end
  return { is = 'kept' }
end
function operation.forgetConversation(asked)
  forgetConversation(asked.account, asked.id)
  return { is = 'forgotten' }
end
-- Accounts take turns among the jobs that are longest due, so that one with many does not keep others waiting.
function operation.due(asked)
  local found, counts, jobs = {}, {}, {}
  if asked.most <= 0 then return { is = 'jobs' } end
  local ids = call('ZRANGEBYSCORE', base .. 'jq', '-inf', whole(asked.nowMs), 'LIMIT', 0, whole(asked.most * 10))
  for at, queued in ipairs(ids) do
    local job = loadJob(queued)
    if job then
      local turn = counts[job.account] or 0
      counts[job.account] = turn + 1
      found[#found + 1] = { job = job, turn = turn, at = at }
    else call('ZREM', base .. 'jq', queued) end
  end
  table.sort(found, function(a, b)
    if a.turn ~= b.turn then return a.turn < b.turn end
    return a.at < b.at
  end)
  for index = 1, math.min(asked.most, #found) do
    local due = found[index]
    call('ZADD', base .. 'jq', whole(asked.nowMs + asked.againMs), due.job.queued)
    jobs[#jobs + 1] = tellJob(due.job)
  end
  return { is = 'jobs', jobs = #jobs > 0 and jobs or nil }
end
-- Ends a job. Its hash keeps the state, without the terms of its bill.
local function endJob(job, state)
  job.state, job.tokens = state, ''
  saveJob(job)
  call('ZREM', base .. 'jr:' .. job.key, job.queued)
  call('ZREM', base .. 'jq', job.queued)
end

-- Replaces what a job was billed by its cost, where it was billed, and gives the rest back. Without `tokens` it is a
-- refund, whose record keeps its own. Returns what was billed and what was not, and the call's record with the balances
-- for the journal; nil: it is forgotten.
local function rebill(job, bill)
  local charged, cost = money(job.cost), money(bill.cost)
  local billed = least(charged, cost)
  local key, account = loadKey(job.key), loadAccount(job.account)
  local day = findWindow(key, 'd', job.day) or window('d', job.day)
  local month = findWindow(key, 'm', job.month) or window('m', job.month)
  giveBack({ key.total, account, day, month }, charged - billed)
  moveMarks(key, account, job, billed - charged, 0)
  saveKey(key)
  saveAccount(account)
  local change = count()
  local unbilled = cost - billed
  local _, _, pointer = loadCall(job.call)
  local record = pointer and readRecord(pointer)
  if record then
    record.cost, record.unbilled, record.status, record.change = digits(billed), digits(unbilled), bill.status, change
    record.tokens = bill.tokens or record.tokens
    replaceRecord(record)
  end
  return digits(billed), digits(unbilled), record and settled(record, key, account, day, month) or nil
end
-- Without `bill` the job keeps its charge. Otherwise the reply says what was billed and what was not, the charge, the
-- time, and the record for the journal.
function operation.finish(asked)
  local job = loadJob(queuedAs(asked.channel, asked.job))
  if not job then return { is = 'none' } end
  if job.state ~= 'Running' then return tellJob(job) end
  local bill = {}
  if asked.bill then
    bill.billed, bill.unbilled, bill.record = rebill(job, asked.bill)
    bill.charged, bill.endedMs = job.cost, whole(now)
  end
  endJob(job, asked.state)
  local reply = tellJob(job)
  for name, value in pairs(bill) do reply[name] = value end
  return reply
end

-- Refilling a store that has lost something --------------------------------------------------------------------------
-- In a block, because Lua allows at most 200 local variables in a chunk.
do
  -- Restores a hold that its process knows, or its confirmation. It was granted once, and is not measured again.
  -- `endedMs` is given for a call whose settlement follows.
  function operation.adopt(asked)
    local state, known = loadCall(asked.call)
    if state == 'H' and known.instance == head.instance then operation.confirm(asked) end
    if state then return { is = 'known' } end
    if asked.endedMs and mayBeForgotten(asked.account, asked.endedMs) then return { is = 'forgotten' } end
    local key, account = loadKey(asked.key), loadAccount(asked.account)
    local admitted = tonumber(asked.admitted or asked.createdMs)
    local limits = spendingOf(asked, admitted)
    local held = { key = asked.key, createdMs = asked.createdMs, route = asked.route, spending = limits,
      admitted = admitted, cost = asked.cost, tokens = asked.tokens }
    local day, month = openWindow(key, 'd', tonumber(asked.day)), openWindow(key, 'm', tonumber(asked.month))
    enter('o', asked.call, held, money(asked.amount), key, account, day, month, nil)
    return { is = 'adopted' }
  end

  -- In place of a change number: a status knew more than the journals until then.
  local BY_STATUS = 0

  -- Whether a change is of an epoch before the one that the store has lost. Of such changes a balance has those up to
  -- the latest that was put back while the store began anew: it was put back into the epoch before, too.
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
  -- balance becomes what it was after it (a store that begins anew). raise: the same, never lower (statuses came
  -- first). join: what was before is added as well. nil: the balance has it already. `endedMs`: when the call ended.
  -- `since` is 'missed' if its process was not part of the epoch before.
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
    elseif way == 'join' then tally.spent = tally.spent + money(after)
    elseif way == 'add' then tally.spent = tally.spent + by end
  end

  -- Puts a mark back: what was spent before a window, as known to a journal or a status. Where changes are added, the
  -- told sum has some that are yet to come, and each of these corrects the mark.
  local function refillMark(owner, way, start, from, spent)
    local marks = marksOf(owner)
    local known = findMark(marks, start)
    if not known then
      local sums = way == 'add' and firstFrom(owner, from) or { spent = spent }
      insertMark(marks, { start = start, from = from, spent = sums.spent, held = sums.start and sums.held or 0 })
      owner.marked = marks[#marks].from
    elseif way == 'set' then known.spent = spent
    elseif way == 'raise' then known.spent = least(known.spent, spent)
    elseif way == 'join' then known.spent = known.spent + spent
    else return end
    saveMarks(owner)
  end
  -- Before the change itself enters the balances.
  local function refillMarks(owners, text)
    for letter, start, from, spent in string.gmatch(text, '(%a),(%d+),(%d+),(%d+)') do
      local owner, way = owners[letter][1], owners[letter][2]
      if way then refillMark(owner, way, tonumber(start), tonumber(from), money(spent)) end
    end
  end

  -- Enters a change from a journal into the balances. `after` has what was spent after the change, `by` is what it
  -- added. Returns its number in this epoch, and whether it is a new one.
  local function reenter(key, account, day, month, after, by, endedMs, admitted)
    local n, anew = tonumber(after.change), epoch[2] == 'set' and refilling
    local own = tonumber(after.billedBy) or n
    local accountWay = wayOf(account, own, anew, after.since, endedMs)
    local keyWay = wayOf(key, own, anew, after.since, endedMs)
    refillMarks({ k = { key, keyWay }, a = { account, accountWay } }, after.marks or '')
    reckon(accountWay, account, after.accountSpent, by)
    reckon(keyWay, key.total, after.totalSpent, by)
    for _, each in ipairs({ { day, after.daySpent }, { month, after.monthSpent } }) do
      local way = keyWay
      if anew and way ~= 'raise' then way = isLatestOf(key, each[1], own) and 'set' or nil end
      reckon(way, each[1], each[2], by)
    end
    if accountWay == 'add' then moveBefore(account, admitted, by, 0) end
    if keyWay == 'add' then moveBefore(key, admitted, by, 0) end
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
  -- The reply: a new change is one of this epoch, and the journal learns its number.
  local function refilled(isNew, record, key, account, day, month)
    if not isNew then return { is = 'refilled' } end
    local reply = settled(record, key, account, day, month)
    reply.is = 'refilled'
    return reply
  end

  local function recordIn(asked)
    local record = {}
    for _, name in ipairs(RECORD) do record[name] = asked[name] end
    return record
  end

  -- The store had lost a settlement, and the call was reaped: the balances become what had been acknowledged.
  local function refillReaped(held, before, record, job)
    local key, account = loadKey(held.key), loadAccount(held.account)
    local tallies = { openWindow(key, 'd', held.day), openWindow(key, 'm', held.month), key.total, account }
    moveAll(tallies, 'spent', money(record.cost))
    giveBack(tallies, money(before.cost))
    moveMarks(key, account, held, money(record.cost) - money(before.cost), 0)
    saveKey(key)
    saveAccount(account)
    record.account, record.streamId, record.mark = before.account, before.streamId, before.mark
    replaceRecord(record)
    count()
    if job then addJob(job, record, account.id, held.day, held.month, held.admitted) end
    return { is = 'refilled' }
  end

  -- Restores a settlement that was acknowledged, from a journal: its record, and the balances after `change`.
  -- `billedBy` is the number of the change that billed the call, if that is an earlier one.
  local function refill(asked, job, endedMs)
    local id, record = asked.call, recordIn(asked)
    local state, held, pointer = loadCall(id)
    if state == 'R' and asked.status ~= 'Abandoned' then
      local before = readRecord(pointer)
      if before then return refillReaped(held, before, record, job) end
    end
    if state == 'W' and held then state, held = nil, nil end
    if state and state ~= 'H' then return { is = 'known' } end
    local anew = epoch[2] == 'set' and refilling
    if not held and not anew and mayBeForgotten(asked.account, endedMs) then return { is = 'known' } end
    local key, account = loadKey(asked.key), loadAccount(asked.account)
    local day, month = openWindow(key, 'd', tonumber(asked.day)), openWindow(key, 'm', tonumber(asked.month))
    local admitted = held and held.admitted or tonumber(asked.createdMs)
    if held then
      moveAll({ day, month, key.total, account }, 'held', -held.amount)
      moveMarks(key, account, held, 0, -held.amount)
      day.calls, month.calls = day.calls - 1, month.calls - 1
    end
    if key.last == 0 then key.last = now end
    if held then listsOf(held.instance) end
    if job then seeJobs() end
    local isNew
    record.change, isNew = reenter(key, account, day, month, asked, money(asked.cost), endedMs, admitted)
    record.mark = markOf(record.change, day, month)
    writeRecord(asked.account, record)
    if held then strike(held.instance, id) end
    if job then addJob(job, record, asked.account, asked.day, asked.month, admitted) end
    return refilled(isNew, record, key, account, day, month)
  end
  function operation.refill(asked)
    return refill(asked, asked.job, tonumber(asked.createdMs) + tonumber(asked.durationMs))
  end
  -- Restores the end of a job, whose bill replaced `charged`, from a journal.
  function operation.refillEnd(asked)
    local state, _, pointer = loadCall(asked.call)
    local endedMs = tonumber(asked.endedMs)
    -- with the job, the store has lost its call: that is restored as it ended, without a job that could end again
    if state ~= 'S' then return refill(asked, nil, endedMs) end
    local record, job = readRecord(pointer), loadJob(queuedAs(asked.job.channel, asked.job.id))
    if not record or not job or job.state ~= 'Running' then return { is = 'known' } end
    local key, account = loadKey(asked.key), loadAccount(asked.account)
    local day, month = openWindow(key, 'd', tonumber(asked.day)), openWindow(key, 'm', tonumber(asked.month))
    seeJobs()
    local by, isNew = money(asked.cost) - money(asked.charged)
    record.change, isNew = reenter(key, account, day, month, asked, by, endedMs, job.admitted)
    record.tokens, record.cost, record.unbilled, record.status = asked.tokens, asked.cost, asked.unbilled, asked.status
    replaceRecord(record)
    endJob(job, asked.status == 'Refunded' and 'Failed' or 'Completed')
    return refilled(isNew, record, key, account, day, month)
  end
  -- What a status says was spent in windows, each with its beginning.
  local function leastInWindows(owner, asked)
    local total = totalsOf(owner).spent
    for _, each in ipairs(asked.windows or {}) do
      refillMark(owner, 'raise', each.start, each.start, notNegative(total - money(each.spent)))
    end
  end

  -- Raises balances to what a status says was spent at least; only while a store begins anew.
  function operation.least(asked)
    if not (epoch[2] == 'set' and refilling) then return { is = 'late' } end
    if asked.account then
      local account = loadAccount(asked.account)
      local more = raise(account, money(asked.spent))
      if more then account.refilled = BY_STATUS end
      leastInWindows(account, asked)
      if more or asked.windows then saveAccount(account) end
    else
      local key = loadKey(asked.key)
      local more = raise(key.total, money(asked.total))
      if asked.period ~= 'N' then
        more = raise(openWindow(key, asked.period == 'D' and 'd' or 'm', asked.window), money(asked.spent)) or more
      end
      if more then key.refilled = BY_STATUS end
      leastInWindows(key, asked)
      saveKey(key)
    end
    return OK
  end
end

-- The batch ----------------------------------------------------------------------------------------------------------
-- Prepares the variables for a batch.
local function begin(keys, batch)
  call, base, changes = redis.call, keys[1], nil
  known, changed, staged, lives, copied, decoded, grown = {}, {}, {}, {}, {}, {}, {}
  lists, slots, minutes, lost = {}, {}, {}, {}
  head = batch
  now = head.clock
  if not now then
    local time = call('TIME')
    now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  end
  today, thisMonth = dayOf(now), monthOf(now)
  epoch = call('HMGET', base .. 'e', 'id', 'mode', 'until', 'n', 'start', 'previous')
  refilling = epoch[3] and tonumber(epoch[3]) > now
end

local function tellEpoch(word)
  return { is = word, id = epoch[1] or '', mode = epoch[2] or '',
    remainingMs = whole(refilling and tonumber(epoch[3]) - now or 0), start = epoch[5] or '0',
    previous = epoch[6] or '0' }
end

-- Founds a new epoch, where the store has none or has lost writes. `from`: the number of changes that the store has.
-- The epoch numbers its changes from `start`, which is above the numbers of earlier epochs, also of those that nobody
-- remembers; `previous` is the start of the epoch that its founder knew.
local function found(asked)
  if (epoch[1] or '') ~= asked.after then return tellEpoch('epoch') end
  if not epoch[1] then call('HSET', base .. 'e', 'from', epoch[4] or '0') end
  local start = whole(math.max(tonumber(epoch[4] or '0'), now * CHANGES_PER_MS))
  call('HSET', base .. 'e', 'id', asked.id, 'mode', epoch[1] and 'add' or 'set', 'until',
    whole(now + asked.refillMs), 'n', start, 'start', start, 'previous', whole(asked.previous))
  return { is = 'founded' }
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

-- Reads the calls and balances that the operations will need.
local function prefetch(operations)
  local wanted, admitted = {}, {}
  local function want(name)
    if known[name] ~= nil then return end
    known[name] = false
    wanted[#wanted + 1] = name
  end
  local function wantOwners(of)
    want(base .. 'k:' .. of.key)
    want(base .. 'a:' .. of.account)
  end
  for _, asked in ipairs(operations) do
    local op = asked.op
    if op == 'admit' or op == 'confirm' or op == 'settle' then want(base .. 'c:' .. asked.call) end
    if op == 'admit' then
      admitted[#admitted + 1] = base .. 'c:' .. asked.call
      wantOwners(asked)
    end
  end
  fetch(wanted)
  -- a new call has no copy either
  fetchCopies(admitted)
  wanted = {}
  for _, asked in ipairs(operations) do
    local text = asked.op == 'settle' and known[base .. 'c:' .. asked.call]
    if text and string.byte(text) == HELD then
      decoded[text] = holdIn(text)
      wantOwners(decoded[text])
    end
  end
  fetch(wanted)
end

local function run(asked)
  local reply = operation[asked.op](asked)
  commit()
  return reply
end

local function main(keys, argv)
  local batch = cjson.decode(argv[1])
  begin(keys, batch)
  if batch.mode == 'found' then return cjson.encode({ found(batch.found) }) end
  local refused = refusal()
  if refused then return cjson.encode({ refused }) end
  -- where a value is missing, that operation fails, and the others read what they need one by one
  if not pcall(prefetch, batch.operations) then known = {} end
  local replies = { OK }
  for i, asked in ipairs(batch.operations) do
    local ok, reply = pcall(run, asked)
    if not ok then
      staged = {}
      reply = { is = 'error', message = type(reply) == 'table' and reply.err or tostring(reply) }
    end
    replies[i + 1] = reply
  end
  if next(lost) then
    replies[1] = { is = 'ok', lost = {} }
    for name in pairs(lost) do table.insert(replies[1].lost, name) end
  end
  if changes then call('HSET', base .. 'e', 'n', whole(changes)) end
  write()
  for _, list in pairs(lists) do writeList(list) end
  -- what fails here mends itself: a lease ends, and the next record trims the stream
  for _, slot in pairs(slots) do pcall(writeSlot, slot) end
  for _, minute in pairs(minutes) do pcall(writeMinute, minute) end
  for stream, entries in pairs(grown) do pcall(forgetOldRecords, stream, entries) end
  return cjson.encode(replies)
end
