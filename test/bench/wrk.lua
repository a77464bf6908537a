-- The benchmark's script for wrk: POSTs one body, with many keys in turn. Arguments: path, file with the body, file
-- with one key per line, then alternating header names and values. Prints the results as one line of JSON after RESULT.

local requests = {}
local at = 0

local function read(file)
  local handle = assert(io.open(file, "rb"))
  local text = handle:read("*a")
  handle:close()
  return text
end

function init(args)
  local headers = {}
  for index = 4, #args, 2 do headers[args[index]] = args[index + 1] end
  local body = read(args[2])
  for key in read(args[3]):gmatch("[^\n]+") do
    headers["authorization"] = "Bearer " .. key
    requests[#requests + 1] = wrk.format("POST", args[1], headers, body)
  end
end

function request()
  at = at % #requests + 1
  return requests[at]
end

function done(summary, latency)
  local errors = summary.errors
  print(string.format(
    'RESULT {"requests":%d,"durationUs":%d,"p50Us":%d,"p99Us":%d,"maxUs":%d,"errors":%d}',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), latency.max,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
