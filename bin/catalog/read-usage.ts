/** Reads the calls that `mgw usage --format json` printed, to price them again. */
import type { BillLine } from '#price/bill.ts';
import type { DiffedCall } from '#usage/catalog-diff.ts';
import { CommandFailed } from '../exit-codes.ts';
import { isRecord } from './lists/records.ts';
import type { JsonRecord } from './lists/records.ts';

const NOT_USAGE = 'The usage must be the list that mgw usage --format json prints';

/** Throws CommandFailed if the text is not such a list. */
export function readUsageJson(text: string): DiffedCall[] {
  const list = parse(text);
  if (!Array.isArray(list)) throw new CommandFailed(`${NOT_USAGE}.`);
  const records: readonly unknown[] = list;
  return records.map((record, index) => {
    if (isCall(record)) return readCall(record);
    throw new CommandFailed(`${NOT_USAGE}; its entry ${index + 1} is not a call.`);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CommandFailed(
      `${NOT_USAGE}: ${error instanceof Error ? error.message : String(error)}`,
      undefined,
      error,
    );
  }
}

/** Each column that a price depends on is there; older versions have no lines. */
function isCall(record: unknown): record is JsonRecord {
  return (
    isRecord(record) &&
    !Number.isNaN(Date.parse(String(record['created_at']))) &&
    ['id', 'key', 'account', 'model', 'group', 'channel', 'status'].every((name) => typeof record[name] === 'string')
  );
}

function readCall(record: JsonRecord): DiffedCall {
  const text = (name: string): string => String(record[name]);
  const count = (name: string): number => Number(record[name] ?? 0);
  const { lines } = record;
  return {
    callId: text('id'),
    account: text('account'),
    keyUid: text('key'),
    createdMs: Date.parse(text('created_at')),
    status: text('status'),
    model: text('model'),
    group: text('group'),
    channel: text('channel'),
    tokens: {
      input: count('input_tokens'),
      cached: count('cached_tokens'),
      cacheWrite5m: count('cache_write_5m_tokens'),
      cacheWrite1h: count('cache_write_1h_tokens'),
      output: count('output_tokens'),
    },
    lines: Array.isArray(lines) ? lines.filter(isRecord).map(readLine) : [],
  };
}

function readLine(line: JsonRecord): BillLine {
  const { service_tier: tier, context_above: above, region, model, size, quality } = line;
  return {
    dimension: String(line['dimension']),
    quantity: Number(line['quantity']),
    rateUsd: String(line['rate_usd']),
    ...(typeof tier === 'string' && { serviceTier: tier }),
    ...(typeof above === 'number' && { above }),
    ...(typeof region === 'string' && { region }),
    ...(typeof model === 'string' && { model }),
    ...(typeof size === 'string' && { size }),
    ...(typeof quality === 'string' && { quality }),
  };
}
