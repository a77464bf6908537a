/** A client that records how much of a response arrived: a broken connection is a result, not an error. */

export interface Ask {
  readonly path: string;
  readonly key: string;
  readonly body: unknown;
  readonly signal?: AbortSignal;
  /** Called with the text so far, at each chunk. */
  readonly onText?: (text: string) => void;
}

export interface Seen {
  /** The request id; '' without response headers. */
  readonly id: string;
  /** 0 without response headers. */
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** True if the response was complete: all bytes, or the last event of a stream. */
  readonly ended: boolean;
  /** The error of a broken connection, or ''. */
  readonly broken: string;
}

/** Does not reject if the connection is refused or breaks. */
export async function ask(url: string, { path, key, body, signal, onText }: Ask): Promise<Seen> {
  let [id, status, text, ended, headers, broken] = ['', 0, '', false, new Headers(), ''];
  try {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify(body),
      signal: signal ?? null,
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
    broken =
      error.cause instanceof Error
        ? `${'code' in error.cause ? String(error.cause.code) : ''} ${error.cause.message}`
        : error.message;
  }
  return { id, status, headers, text, ended, broken };
}

function isStreamEnd(text: string): boolean {
  return text.endsWith('data: [DONE]\n\n') || text.includes('event: message_stop\ndata: {"type":"message_stop"}\n\n');
}

/** Returns GET /v1/usage/{id} as the key gets it. */
export async function usage(url: string, key: string, id: string): Promise<{ status: number; body: Usage }> {
  const response = await fetch(`${url}/v1/usage/${id}`, { headers: { authorization: `Bearer ${key}` } });
  return { status: response.status, body: (await response.json()) as Usage };
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

/** Converts a decimal in USD to nano-USD. */
export function nanoUsd(decimal: string): bigint {
  const [whole = '0', fraction = ''] = decimal.split('.');
  return BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'));
}
