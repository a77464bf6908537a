/**
 * Logs one JSON object per line, and one line per finished call (call-log.ts). No logged field should contain a secret.
 * As a second line of defence, every finished line is searched: fields with a secret's name are censored, and whatever
 * looks like a key or a bearer token is masked, also in error messages and stacks, which pino's redaction by path would
 * miss.
 */
import { pino } from 'pino';
import type { DestinationStream, Level, Logger } from 'pino';

export interface LogOptions {
  /** Default "info". */
  readonly level?: Level | 'silent';
  readonly to: DestinationStream;
}

const REDACTED = '[redacted]';

/** Matches every line with a secret, so that nearly all other lines cost only one search. */
const SUSPECT = /sk-[A-Za-z0-9_-]{16}|bearer|basic|authorization|api[-_]?key|cookie/i;
const SECRET_FIELD = /"([\w-]*(?:authorization|api[-_]?key|cookie))":(?:"(?:[^"\\]|\\.)*"|\[[^\]]*\])/gi;
/** Longer than any prefix that is shown to people. */
const KEY_LIKE = /sk-[A-Za-z0-9_-]{16,}/g;
/** The end of an object's name, such as task-runner-production-2026; before it is a letter or a hyphen. */
const END_OF_NAME = /^sk(?:-(?:[a-z]{1,20}|[0-9]{1,4}))+$/;
const BEARER_LIKE = /\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi;

/** Creates a logger that writes ISO times and levels as words. */
export function createLogger({ level = 'info', to }: LogOptions): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: maskSecrets },
    },
    to,
  );
}

/** Masks what looks like a secret in a JSON line. */
function maskSecrets(line: string): string {
  if (!SUSPECT.test(line)) return line;
  return line
    .replace(SECRET_FIELD, `"$1":"${REDACTED}"`)
    .replace(KEY_LIKE, (text, at: number, whole: string) => (isEndOfName(whole, at, text) ? text : `sk-${REDACTED}`))
    .replace(BEARER_LIKE, `$1 ${REDACTED}`);
}

function isEndOfName(line: string, at: number, text: string): boolean {
  const before = line.slice(Math.max(0, at - 2), at);
  return /[a-z-]$/.test(before) && !before.startsWith('\\') && END_OF_NAME.test(text);
}
