/**
 * Signs requests by AWS's Signature Version 4. The library is loaded with the first channel that signs. For the
 * signature it encodes the path's segments a second time, as every service but S3 expects: a colon in a model's name is
 * %3A in the path and %253A in the signed text.
 */
import { createHash, createHmac } from 'node:crypto';
import type { Hash, Hmac } from 'node:crypto';
import type { AccessKey } from './aws-credentials.ts';

export interface SignedRequest {
  readonly method: string;
  /** As the Host header has it, with a port that is not the scheme's own. */
  readonly host: string;
  /** Path and query. */
  readonly path: string;
  readonly contentType: string | undefined;
  readonly body: Uint8Array | undefined;
}

export interface SigningScope {
  readonly region: string;
  readonly service: string;
}

/** The headers of the signature. `nowMs`: the wall clock, from which AWS allows a difference of five minutes. */
export async function signRequest(
  { method, host, path, contentType, body }: SignedRequest,
  key: AccessKey,
  { scope: { region, service }, nowMs }: { readonly scope: SigningScope; readonly nowMs: number },
): Promise<Record<string, string>> {
  const { SignatureV4 } = await import('@smithy/signature-v4');
  const signer = new SignatureV4({ credentials: key, region, service, sha256: Sha256, applyChecksum: true });
  const [pathname = '', query] = path.split('?', 2);
  const [hostname = '', port] = host.split(':', 2);
  const signed = await signer.sign(
    {
      method,
      protocol: 'https:',
      hostname,
      ...(port !== undefined && { port: Number(port) }),
      path: pathname,
      query: query === undefined ? {} : Object.fromEntries(new URLSearchParams(query)),
      headers: { host, ...(contentType !== undefined && { 'content-type': contentType }) },
      body: body ?? '',
    },
    { signingDate: new Date(nowMs) },
  );
  const { host: _host, 'content-type': _type, ...added } = signed.headers;
  return added;
}

/** SHA-256 with the interface that the library expects. */
class Sha256 {
  #hash: Hash | Hmac;
  readonly #secret: string | Uint8Array | undefined;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#secret = secret === undefined || typeof secret === 'string' ? secret : bytesOf(secret);
    this.#hash = this.#open();
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(typeof data === 'string' ? data : bytesOf(data));
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(new Uint8Array(this.#hash.digest()));
  }

  reset(): void {
    this.#hash = this.#open();
  }

  #open(): Hash | Hmac {
    return this.#secret === undefined ? createHash('sha256') : createHmac('sha256', this.#secret);
  }
}

function bytesOf(data: ArrayBuffer | ArrayBufferView): Uint8Array {
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}
