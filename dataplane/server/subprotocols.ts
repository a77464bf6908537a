/** [P] The subprotocols that a client of a WebSocket offers. Browsers send their key as one: they cannot send headers. */

const KEY_PROTOCOL = 'openai-insecure-api-key.';

export interface Offered {
  readonly keys: readonly string[];
  /** The protocols that are no keys. */
  readonly protocols: readonly string[];
}

/** Reads a Sec-WebSocket-Protocol header. */
export function readSubprotocols(header: string): Offered {
  const offered = header
    .split(',')
    .map((protocol) => protocol.trim())
    .filter((protocol) => protocol !== '');
  return {
    keys: offered.filter(isKey).map((protocol) => protocol.slice(KEY_PROTOCOL.length)),
    protocols: offered.filter((protocol) => !isKey(protocol)),
  };
}

function isKey(protocol: string): boolean {
  return protocol.startsWith(KEY_PROTOCOL);
}
