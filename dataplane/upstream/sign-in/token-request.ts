/**
 * One request to a token service. Redirects are not followed, and no answer's text reaches an error, because it may
 * hold a token.
 */
import { request } from 'undici';
import type { Dispatcher } from 'undici';

/** Why a channel has no token. `code` is safe to show: a code of the service, of the network, or of the gateway. */
export class SignInError extends Error {
  override readonly name = 'SignInError';
  readonly code: string;
  constructor(code: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code.replace(/[^A-Za-z0-9_.-]+/g, '_').slice(0, MAX_CODE);
  }
}

export interface TokenRequest {
  readonly url: string;
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly headers?: Readonly<Record<string, string>>;
  /** The fields of a form. */
  readonly form?: Readonly<Record<string, string>>;
  /** Instead of a form. */
  readonly json?: Readonly<Record<string, unknown>>;
  /** The connections to use; undefined: direct ones. */
  readonly by?: Dispatcher | undefined;
}

const MAX_CODE = 60;
const TIMEOUT_MS = 10_000;

/** Returns the text of a 2xx response. Throws SignInError. */
export async function askForToken(asked: TokenRequest): Promise<string> {
  const { status, text } = await exchange(asked);
  if (status >= 200 && status < 300) return text;
  throw new SignInError(errorCodeIn(text) ?? `HTTP_${status}`, `the token service answers ${status}`);
}

/** The members of a JSON response. Throws SignInError if it is not a JSON object. */
export async function askForJson(asked: TokenRequest): Promise<Readonly<Record<string, unknown>>> {
  const object = parseObject(await askForToken(asked));
  if (!object) throw new SignInError('BAD_ANSWER', 'the token service does not answer with a JSON object');
  return object;
}

/** Reads an OAuth token response. Throws SignInError if it contains no token. */
export function readAccessToken(
  { access_token: token, expires_in: seconds }: Readonly<Record<string, unknown>>,
  nowMs: number,
): { readonly value: string; readonly expiresAtMs: number } {
  const life = Number(seconds);
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token) || !(life > 0))
    throw new SignInError('BAD_ANSWER', 'the token service answers without a token');
  return { value: token, expiresAtMs: nowMs + life * 1000 };
}

async function exchange({
  url,
  method,
  headers,
  by,
  ...asked
}: TokenRequest): Promise<{ status: number; text: string }> {
  try {
    const { statusCode, body } = await request(url, {
      method,
      ...(by && { dispatcher: by }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: { ...headers, ...typeOf(asked) },
      ...bodyOf(asked),
    });
    return { status: statusCode, text: await body.text() };
  } catch (error) {
    throw new SignInError(networkCode(error), 'the token service cannot be reached', error);
  }
}

type Content = Pick<TokenRequest, 'form' | 'json'>;

function typeOf({ form, json }: Content): Readonly<Record<string, string>> {
  if (json) return { 'content-type': 'application/json' };
  return form ? { 'content-type': 'application/x-www-form-urlencoded' } : {};
}

function bodyOf({ form, json }: Content): { readonly body?: string } {
  if (json) return { body: JSON.stringify(json) };
  return form ? { body: new URLSearchParams(form).toString() } : {};
}

function networkCode(error: unknown): string {
  if (!(error instanceof Error)) return 'FAILED';
  if (error.name === 'TimeoutError') return 'TIMEOUT';
  return 'code' in error && typeof error.code === 'string' ? error.code : 'FAILED';
}

/** OAuth's `error`, or the `<Code>` of AWS. */
function errorCodeIn(text: string): string | undefined {
  const { error } = parseObject(text) ?? {};
  return typeof error === 'string' && error !== '' ? error : /<Code>([A-Za-z0-9]{1,60})<\/Code>/.exec(text)?.[1];
}

/** Undefined: the text is not a JSON object. */
export function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
