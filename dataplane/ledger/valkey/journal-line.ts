/**
 * [P] The lines of a process's journal of settlements, each a JSON array. Lines of earlier versions are read too: they
 * have the values of operations and replies by position.
 */
import type { Operation, Value } from './operations.ts';
import { CHANGE_FIELDS, RECORD_FIELDS } from './replies.ts';
import type { RecordReply } from './replies.ts';

/** A settlement, or the withdrawal of a hold, that was not acknowledged. */
export interface PendingSettlement {
  readonly callId: string;
  readonly account: string;
  /** Restores the hold that the settlement replaces; absent if its process knew of none. */
  readonly adopt?: Operation;
  readonly settle: Operation;
}

/** A settlement that the store has acknowledged, with the balances after it. */
export interface Settled {
  readonly record: RecordReply;
  /** The values of `settle` that create its job; of `refillEnd`, those that name the job. */
  readonly job?: { readonly [name: string]: Value };
  /** Of an ended job whose bill has replaced the charge: what it was charged, and when it ended. */
  readonly charged?: string;
  readonly endedMs?: string;
}

/** Pending; Settled: acknowledged; Ended: its job ended with a bill; Dropped; Epoch: one began in a bucket. */
export type Line =
  | readonly ['Pending', PendingSettlement]
  | readonly ['Settled' | 'Ended', callId: string, Settled]
  | readonly ['Dropped', callId: string]
  | readonly ['Epoch', base: string, epoch: string, start?: number];

export function formatLine(line: Line): string {
  return `${JSON.stringify(line)}\n`;
}

/** Returns undefined if the line is incomplete or damaged. */
export function parseLine(text: string): Line | undefined {
  if (text === '') return undefined;
  try {
    const line: unknown = JSON.parse(text);
    if (!Array.isArray(line)) return undefined;
    return isLine(line) ? line : parseEarlier(line);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isLine(line: unknown[]): line is unknown[] & Line {
  switch (line[0]) {
    case 'Pending':
      return isPending(line[1]);
    case 'Settled':
    case 'Ended':
      return isObject(line[2]) && 'record' in line[2] && isObject(line[2].record);
    case 'Epoch':
      return typeof line[1] === 'string' && typeof line[2] === 'string';
    default:
      return line[0] === 'Dropped';
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isPending(value: unknown): boolean {
  if (!isObject(value) || !('callId' in value) || !('account' in value) || !('settle' in value)) return false;
  const { callId, account, settle } = value;
  return typeof callId === 'string' && typeof account === 'string' && isOperation(settle);
}

function isOperation(value: unknown): boolean {
  return isObject(value) && 'op' in value && typeof value.op === 'string';
}

/** An operation of an earlier version. */
interface Positional {
  readonly name: string;
  readonly args: readonly string[];
}

const EARLIER: Readonly<Record<string, (line: readonly unknown[]) => Line | undefined>> = {
  P: ([, pending]) => parseEarlierPending(pending),
  C: ([, callId, reply, job, change]) => {
    const [jobId, pollMs, channel] = textsOf(job);
    const record = { ...parseEarlierRecord(textsOf(reply)), ...(typeof change === 'string' && { billedBy: change }) };
    return [
      'Settled',
      String(callId),
      { record, ...(jobId && { job: { id: jobId, pollMs: Number(pollMs), channel } }) },
    ];
  },
  F: ([, callId, reply, job]) => {
    const [id, charged = '', endedMs = '', channel] = textsOf(job);
    return [
      'Ended',
      String(callId),
      { record: parseEarlierRecord(textsOf(reply)), job: { id, channel }, charged, endedMs },
    ];
  },
  D: ([, callId]) => ['Dropped', String(callId)],
  E: ([, base, epoch, start]) =>
    typeof base === 'string' && typeof epoch === 'string' ? ['Epoch', base, epoch, Number(start ?? 0)] : undefined,
};

function parseEarlier(line: readonly unknown[]): Line | undefined {
  return EARLIER[String(line[0])]?.(line);
}

function parseEarlierPending(value: unknown): Line | undefined {
  if (!isObject(value) || !('callId' in value) || !('account' in value) || !('settle' in value)) return undefined;
  const settle = isPositional(value.settle) && parseEarlierSettle(value.settle);
  if (!settle) return undefined;
  const adopt = 'adopt' in value && isPositional(value.adopt) ? parseEarlierAdopt(value.adopt) : undefined;
  const pending = { callId: String(value.callId), account: String(value.account), settle };
  return ['Pending', adopt ? { ...pending, adopt } : pending];
}

function isPositional(value: unknown): value is Positional {
  return isObject(value) && 'name' in value && 'args' in value && Array.isArray(value.args);
}

function parseEarlierSettle({ name, args }: Positional): Operation {
  const [call = '', cost, tokens, route, status, durationMs, jobId, pollMs, channel, ...slots] = args;
  if (name === 'withdraw') return { op: 'withdraw', call };
  const job = jobId ? { id: jobId, pollMs: Number(pollMs), channel } : undefined;
  return { op: 'settle', call, cost, tokens, route, status, durationMs: Number(durationMs), job, slots };
}

function parseEarlierAdopt({ args }: Positional): Operation {
  const [call, key, account, createdMs, route, limit, period, credit, amount, cost, tokens, day, month] = args;
  const spending = { ...(limit !== '-' && { limit }), period, credit, amount };
  return {
    op: 'adopt',
    call,
    key,
    account,
    createdMs: Number(createdMs),
    route,
    ...spending,
    cost,
    tokens,
    day,
    month,
  };
}

/** The words of the reply `settled`. */
function parseEarlierRecord([, ...values]: readonly string[]): RecordReply {
  return Object.fromEntries([...RECORD_FIELDS, ...CHANGE_FIELDS].map((name, index) => [name, values[index]]));
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
