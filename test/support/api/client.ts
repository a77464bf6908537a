/** A client that notices how far an answer came: a connection that breaks is a result, not an error. */

export interface Ask {
  readonly path: string;
  readonly key: string;
  readonly body: unknown;
  readonly signal?: AbortSignal;
  /** Told of the text so far, with each piece that comes. */
  readonly onText?: (text: string) => void;
}

export interface Seen {
  /** The request id; '' where no head came. */
  readonly id: string;
  /** 0: no head came. */
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The client saw the whole answer: all of its bytes, or of a stream its last event. */
  readonly ended: boolean;
  /** How the connection broke; '' where it did not. */
  readonly broken: string;
}

/** Never rejects for a connection that is refused or breaks. */
export async function ask(url: string, { path, key, body, signal, onText }: Ask): Promise<Seen> {
  let [id, status, text, ended, headers, broken] = ['', 0, '', false, new Headers(), ''];
  try {
    const response = await fetch(url + path, {
      method: 'POST', headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` }, body:
        JSON.stringify(body), signal: signal ?? null,
    });
    ({ status, headers } = response);
    id = headers.get('x-request-id') ?? '';
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece;
      ended ||= isStreamEnd(text);
      onText?.(text);
    }
    ended = ended || !(headers.get('content-type') ?? '').startsWith('text/event-stream');
  } catch (error) {
    if (!(error instanceof TypeError || (error instanceof DOMException && error.name === 'AbortError'))) throw error;
    broken = error.cause instanceof Error
      ? `${'code' in error.cause ? String(error.cause.code) : ''} ${error.cause.message}`
      : error.message;
  }
  return { id, status, headers, text, ended, broken };
}

function isStreamEnd(text: string): boolean {
  return text.endsWith('data: [DONE]\n\n') || text.includes('event: message_stop\ndata: {"type":"message_stop"}\n\n');
}

/** GET /v1/usage/{id} as its key sees it. */
export async function usage(url: string, key: string, id: string): Promise<{ status: number; body: Usage }> {
  const response = await fetch(`${url}/v1/usage/${id}`, { headers: { authorization: `Bearer ${key}` } });
  return { status: response.status, body: await response.json() as Usage };
}

export interface Usage {
  readonly id: string;
  readonly status: string;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly usage_source: string;
  readonly cost_usd: string;
  readonly unbilled_usd: string;
}

/** A decimal of USD in nano-USD. */
export function nanoUsd(decimal: string): bigint {
  const [whole = '0', fraction = ''] = decimal.split('.');
  return BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'));
}
