/**
 * Reads provider errors of any shape. Messages are truncated and redacted: nothing that looks like a key, an account or
 * an address of the provider reaches a caller.
 */
import type { ProviderError } from './converter.ts';
import { isRecord, textOf } from './fields.ts';
import type { JsonRecord } from './fields.ts';
import { decodeUtf8 } from './bytes.ts';
import { parseJson } from './parse-json.ts';

const MAX_MESSAGE = 1000;
const MAX_NAME = 100;
/** Larger bodies are not read for an error message. */
const MAX_BODY_BYTES = 1024 * 1024;

/** In this order: the wider patterns come last. */
const REDACTIONS: readonly (readonly [RegExp, string])[] = [
  [/\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'<>]+/gi, '[url]'],
  [/\bbearer\s+[^\s"'<>,;]+/gi, '[redacted]'],
  [/\b(?:sk|pk|rk|xai|gsk)[-_][A-Za-z0-9*_.…-]+/gi, '[redacted]'],
  [/\b(?:org|proj|user|key|acct)[-_](?=[A-Za-z]*\d)[A-Za-z0-9]{8,}/gi, '[redacted]'],
  [/\b(?:AKIA|ASIA|AIza|ya29\.|eyJ)[A-Za-z0-9*_.-]{6,}/g, '[redacted]'],
  [/\b[A-Za-z0-9_-]{40,}\b/g, '[redacted]'],
  [
    /\b(?:[a-z0-9-]{1,63}\.){1,8}(?:com|net|org|io|ai|dev|cloud|cn|local|internal)(?::\d+)?(?:\/[^\s"'<>]*)?/gi,
    '[address]',
  ],
  [/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b/g, '[address]'],
];

/** Never throws; without a readable body the message is made from the status. */
export function readProviderError(status: number, bytes: Uint8Array): ProviderError {
  const value = parse(bytes);
  return errorOf(value) ?? { message: messageOf(status), type: undefined, code: undefined };
}

/** Whether a response or a chunk is an error, whatever stands beside it. vLLM marks its own as an `object`. */
export function isErrorObject({ error, object }: JsonRecord): boolean {
  if (object === 'error') return true;
  return isRecord(error) ? Object.keys(error).length > 0 : textOf(error) !== undefined;
}

/** The error that a response of 200 is; undefined: its bytes are no JSON with an error in it. */
export function readErrorIn(bytes: Uint8Array): ProviderError | undefined {
  const value = parse(bytes);
  return typeof value === 'string' ? undefined : errorOf(value);
}

/** Reads a parsed error: the data of a stream's error event. */
export function readStreamError(value: unknown): ProviderError {
  return (
    errorOf(value) ?? { message: 'The provider ended the answer with an error.', type: undefined, code: undefined }
  );
}

/** Truncated, on one line, and without secrets. */
export function redactMessage(text: string): string {
  // truncated first, so that no text is long enough to make the patterns slow
  let message = text
    .slice(0, MAX_MESSAGE * 2)
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim();
  for (const [pattern, replacement] of REDACTIONS) message = message.replace(pattern, replacement);
  return message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE - 1)}…` : message;
}

function parse(bytes: Uint8Array): unknown {
  if (bytes.length === 0 || bytes.length > MAX_BODY_BYTES) return undefined;
  const text = decodeUtf8(bytes).trim();
  try {
    return parseJson(text);
  } catch {
    // plain text is a message; a page or broken JSON is not
    return text.startsWith('<') || text.startsWith('{') || text.startsWith('[') ? undefined : text;
  }
}

/** Providers wrap an error in a list, in `error`, or not at all. */
function errorOf(value: unknown): ProviderError | undefined {
  const outer: unknown = Array.isArray(value) ? value[0] : value;
  if (typeof outer === 'string') return fromMessage(outer, {});
  if (!isRecord(outer)) return undefined;
  const inner = outer['error'];
  if (isRecord(inner)) return fromRecord(inner) ?? fromMessage(undefined, inner);
  if (typeof inner === 'string') return fromMessage(messageIn(outer) ?? inner, outer);
  return fromRecord(outer);
}

function fromRecord(record: JsonRecord): ProviderError | undefined {
  const message = messageIn(record);
  return message === undefined ? undefined : fromMessage(message, record);
}

function fromMessage(message: string | undefined, record: JsonRecord): ProviderError | undefined {
  const redacted = message === undefined ? '' : redactMessage(message);
  const type = nameOf(record['type'] ?? record['status']);
  const code = codeOf(record);
  if (redacted === '' && type === undefined && typeof code !== 'string') return undefined;
  return {
    message: redacted === '' ? `The provider says: ${type ?? code ?? 'error'}.` : redacted,
    type,
    code,
    ...paramOf(record),
  };
}

/** OpenAI's `code`, or Anthropic's `details.error_code`. */
function codeOf({ code, details }: JsonRecord): string | null | undefined {
  return code === null ? null : nameOf(code ?? (isRecord(details) ? details['error_code'] : undefined));
}

/** OpenAI's `param`, the name of a field of the request. */
function paramOf({ param }: JsonRecord): Pick<ProviderError, 'param'> {
  const named = typeof param === 'string' ? nameOf(param) : undefined;
  return named === undefined ? {} : { param: named };
}

function messageIn(record: JsonRecord): string | undefined {
  const { message, detail, msg, errors } = record;
  return textOf(message) ?? detailOf(detail) ?? textOf(msg) ?? detailOf(errors);
}

/** FastAPI's `detail`: text, or a list of `{loc, msg}`. */
function detailOf(detail: unknown): string | undefined {
  const first: unknown = Array.isArray(detail) ? detail[0] : detail;
  if (typeof first === 'string') return textOf(first);
  return isRecord(first) ? (textOf(first['msg']) ?? textOf(first['message'])) : undefined;
}

/** A type or code: a string, or a number as a string. */
function nameOf(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  const text = textOf(value);
  return text === undefined ? undefined : redactMessage(text).slice(0, MAX_NAME);
}

function messageOf(status: number): string {
  return `The provider answered with status ${status} and no message.`;
}
