/**
 * The log line of a finished call: ids and figures, nothing of what was asked or answered. There is one for each call, so it is
 * put together by hand and goes to the logger's own destination, past the steps that a logger takes for lines of any shape. What
 * comes from the configuration or the request is escaped and looked through for secrets like every other line.
 */
import { symbols } from 'pino';
import type { DestinationStream, Logger } from 'pino';
import { formatDecimal } from '../snapshot/decimal.ts';
import type { AttemptReport, CallReport, LateBilling } from './call-report.ts';
import { CallKinds, isLike, likenessOf } from './kinds.ts';
import type { CallKind, Likeness } from './kinds.ts';
import { createIsoTime, maskSecrets } from './log.ts';

export type CallLogLevel = 'info' | 'warn';

/** Writes the lines of calls to where this logger writes, as far as it lets their level pass. */
export function createCallLog(log: Logger): (report: CallReport, level: CallLogLevel) => void {
  const destination = destinationOf(log);
  const time = createIsoTime();
  const lineOf = createCallLines();
  return (report, level) => {
    if (log.isLevelEnabled(level)) destination.write(lineOf(report, level, time()));
  };
}

function destinationOf(log: Logger): DestinationStream {
  const stream: unknown = Reflect.get(log, symbols.streamSym);
  if (!isDestination(stream)) throw new TypeError('the logger has no destination');
  return stream;
}

function isDestination(stream: unknown): stream is DestinationStream {
  return typeof stream === 'object' && stream !== null && 'write' in stream && typeof stream.write === 'function';
}

/** Lines of JSON with their line breaks; `time` is a member with its comma, as log.ts makes it. */
export function createCallLines(): (report: CallReport, level: CallLogLevel, time: string) => string {
  const wordings = new CallKinds((report) => new Wording(report));
  // for as long as the configuration has a key so
  const keys = new WeakMap<CalledKey, string>();
  const whoIs = (key: CalledKey): string => {
    let who = keys.get(key);
    if (who === undefined) keys.set(key, who = whoText(key));
    return who;
  };
  return (report, level, time) => {
    const { requestId, key, attempts, billing, durationMs, firstByteMs } = report;
    const like = wordings.find(report);
    return `${LEVELS[level]}${time},"request_id":"${requestId}${like.request}${key ? whoIs(key) : ''}${like.call}${attemptsOf(attempts)}${billing ? billingOf(billing, like) : ''}`
      + `,"duration_ms":${tidy(durationMs)}${firstByteMs === undefined ? '' : `,"first_byte_ms":${tidy(firstByteMs)}`},"msg":"call"}\n`;
  };
}

const LEVELS = { info: '{"level":"info"', warn: '{"level":"warn"' } as const;

type CalledKey = NonNullable<CallReport['key']>;

function whoText({ namespace, name, prefix, account }: CalledKey): string {
  return maskSecrets(`${member('key', `${namespace}/${name}`)}${member('key_prefix', prefix)}${member('account', account)}`);
}

/**
 * What the lines of calls that went alike have in common, in as few pieces as may be: each costs when a line is put together. A
 * text that has been looked through for secrets is one piece.
 */
class Wording implements CallKind {
  readonly #like: Likeness;
  readonly #channel: string | undefined;
  readonly #outcome: string | undefined;
  /** From behind the request's id to the key. */
  readonly request: string;
  /** From behind the key to the first attempt's duration, if there is one. */
  readonly call: string;
  /** Up to the input's tokens, and from behind the output's to the cost. */
  readonly beforeTokens: string;
  readonly beforeCost: string;

  constructor(report: CallReport) {
    this.#like = likenessOf(report);
    const { endpoint, dialect, stream, httpStatus, errorCode, model, group, attempts: [first], billing } = report;
    this.#channel = first?.channel;
    this.#outcome = first?.outcome;
    this.request = maskSecrets(`","endpoint":"${endpoint}","dialect":"${dialect}","stream":${stream},"status":${httpStatus}${member('error_code', errorCode)}`);
    this.call = maskSecrets(`${member('model', model)}${member('group', group)},"attempts":[${first ? beforeDuration(first) : ''}`);
    this.beforeTokens = maskSecrets(`,"call_status":"${billing?.status}","input_tokens":`);
    this.beforeCost = maskSecrets(`,"usage_source":"${billing?.usageSource}","cost_usd":"`);
  }

  isOf(report: CallReport): boolean {
    const [first] = report.attempts;
    return first?.channel === this.#channel && first?.outcome === this.#outcome && isLike(this.#like, report);
  }
}

/** The line of a settlement that came after its call's own line. */
export function lateLogLine({ requestId, model, group, billing }: LateBilling): Record<string, unknown> {
  return { request_id: requestId, model, group, ...billingFields(billing) };
}

/** From the first one's duration to the end of all. */
function attemptsOf(attempts: readonly AttemptReport[]): string {
  let text = '';
  for (const attempt of attempts) text += `${text === '' ? '' : maskSecrets(`,${beforeDuration(attempt)}`)}${tidy(attempt.durationMs)}}`;
  return `${text}]`;
}

function beforeDuration({ channel, outcome }: AttemptReport): string {
  return `{"channel":${JSON.stringify(channel)},"outcome":"${outcome}","duration_ms":`;
}

function billingOf({ tokens, costNanoUsd, unbilledNanoUsd }: LateBilling['billing'], { beforeTokens, beforeCost }: Wording): string {
  return `${beforeTokens}${tokens.input},"cached_tokens":${tokens.cached},"cache_write_tokens":${tokens.cacheWrite5m + tokens.cacheWrite1h}`
    + `,"output_tokens":${tokens.output}${beforeCost}${formatDecimal(costNanoUsd)}","unbilled_usd":"${formatDecimal(unbilledNanoUsd)}"`;
}

function billingFields({ status, tokens, usageSource, costNanoUsd, unbilledNanoUsd }: LateBilling['billing']): Record<string, unknown> {
  return {
    call_status: status,
    input_tokens: tokens.input,
    cached_tokens: tokens.cached,
    cache_write_tokens: tokens.cacheWrite5m + tokens.cacheWrite1h,
    output_tokens: tokens.output,
    usage_source: usageSource,
    cost_usd: formatDecimal(costNanoUsd),
    unbilled_usd: formatDecimal(unbilledNanoUsd),
  };
}

function member(name: string, value: string | undefined): string {
  return value === undefined ? '' : `,"${name}":${JSON.stringify(value)}`;
}

/** `.001` to `.999`, without zeros at the end; nothing for none. */
const THOUSANDTHS = Array.from({ length: 1000 }, (_none, count) => String(count / 1000).slice(1));

/** Microseconds are enough. As whole numbers, since those with a point take several times as long to write. */
function tidy(ms: number): string {
  const micros = Math.round(ms * 1000);
  const rest = micros % 1000;
  const point = THOUSANDTHS[rest];
  return point === undefined ? String(micros / 1000) : `${(micros - rest) / 1000}${point}`;
}
