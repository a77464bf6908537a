/**
 * Logs: one JSON object per line, one line per finished call (call-log.ts). Nothing that is logged is meant to hold a secret; as a
 * second line of defence the finished line is looked through: fields with a secret's name are censored, and whatever looks like a key
 * or a bearer token is masked, in error messages and stacks too. (Pino's own redaction by path takes 30 µs per line.)
 */
import { pino } from 'pino';
import type { DestinationStream, Level, Logger } from 'pino';
import { LineBuffer } from './line-buffer.ts';
import type { Output } from './line-buffer.ts';

/** Node's `process`, as far as its end goes. */
export interface Ending {
  prependListener(event: 'beforeExit' | 'exit', listener: () => void): unknown;
}

export interface LogOptions {
  /** Default "info". */
  readonly level?: Level | 'silent';
  /** Where lines go; or the process that writes to standard output: without waiting, within 50 ms, and what is left when it exits. */
  readonly to: DestinationStream | Ending;
}

/** Lines are written together, at most so many bytes and so late: a write per line costs as much as all else of a line. */
const WRITE_LENGTH = 64 * 1024;
const WRITE_EVERY_MS = 50;

const REDACTED = '[redacted]';

/** What a line with a secret in it has; lines without, nearly all, cost this one look. */
const SUSPECT = /sk-[A-Za-z0-9_-]{16}|bearer|basic|authorization|api[-_]?key|cookie/i;
const SECRET_FIELD = /"([\w-]*(?:authorization|api[-_]?key|cookie))":(?:"(?:[^"\\]|\\.)*"|\[[^\]]*\])/gi;
/** Longer than any prefix that is shown to people. */
const KEY_LIKE = /sk-[A-Za-z0-9_-]{16,}/g;
const BEARER_LIKE = /\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi;

/** A JSON line, or members of one, without what looks like a secret. */
export function maskSecrets(line: string): string {
  if (!SUSPECT.test(line)) return line;
  return line
    .replace(SECRET_FIELD, `"$1":"${REDACTED}"`)
    .replace(KEY_LIKE, `sk-${REDACTED}`)
    .replace(BEARER_LIKE, `$1 ${REDACTED}`);
}

/** A logger that writes ISO times and levels as words. */
export function createLogger({ level = 'info', to }: LogOptions): Logger {
  return pino({
    level,
    base: null,
    timestamp: createIsoTime(),
    formatters: { level: (label) => ({ level: label }) },
    hooks: { streamWrite: maskSecrets },
  }, 'write' in to ? to : standardOutput(to));
}

function standardOutput(process: Ending): LineBuffer {
  // its own timer is for what it could not write at once
  const output = pino.destination({ dest: 1, sync: false, contentMode: 'buffer', minLength: WRITE_LENGTH, maxWrite: 2 * WRITE_LENGTH, periodicFlush: WRITE_EVERY_MS });
  // it takes bytes in this mode, which its declared type does not know
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const lines = new LineBuffer(output as unknown as Output, { writeLength: WRITE_LENGTH, writeEveryMs: WRITE_EVERY_MS });
  // before pino's own listeners, which write what it has been given, and then end it
  process.prependListener('beforeExit', () => lines.handOn());
  process.prependListener('exit', () => lines.flushSync());
  return lines;
}

/** The time as a member of a line. Of a second all but its thousandths stays, of a thousandth all. */
export function createIsoTime(): () => string {
  let [latestMs, latestSecond] = [Number.NaN, Number.NaN];
  let [text, second] = ['', ''];
  return () => {
    const nowMs = Date.now();
    if (nowMs === latestMs) return text;
    latestMs = nowMs;
    const thousandths = nowMs % 1000;
    if (nowMs - thousandths !== latestSecond) {
      latestSecond = nowMs - thousandths;
      second = `,"time":"${new Date(nowMs).toISOString().slice(0, -4)}`;
    }
    return text = `${second}${String(1000 + thousandths).slice(1)}Z"`;
  };
}
