/** Verifies a request's AWS signature as documented, without a library. */
import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import type { RecordedRequest } from '../mock-provider.ts';

const sha256 = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

export interface Signer {
  readonly secretAccessKey: string;
  readonly region: string;
  readonly service: string;
}

/** Returns the access key's id; throws AssertionError if AWS would refuse the signature. */
export function checkSignature(request: RecordedRequest, { secretAccessKey, region, service }: Signer): string {
  const pattern = /^AWS4-HMAC-SHA256 Credential=([^/]+)\/([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/;
  const found = pattern.exec(request.headers.authorization ?? '') ?? [];
  const [, keyId = '', scope = '', names = '', signature = ''] = found;
  const time = String(request.headers['x-amz-date']);
  assert.equal(scope, `${time.slice(0, 8)}/${region}/${service}/aws4_request`);
  assert.equal(request.headers['x-amz-content-sha256'], sha256(request.body));
  const [path = '', query = ''] = request.path.split('?');
  const canonical = [
    request.method,
    path.split('/').map(encodeURIComponent).join('/'),
    query.split('&').sort().join('&'),
    ...names.split(';').map((name) => `${name}:${String(request.headers[name]).trim()}`),
    '',
    names,
    sha256(request.body),
  ].join('\n');
  const day = hmac(`AWS4${secretAccessKey}`, time.slice(0, 8));
  const key = hmac(hmac(hmac(day, region), service), 'aws4_request');
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n');
  assert.equal(signature, hmac(key, text).toString('hex'), 'SignatureDoesNotMatch');
  return keyId;
}
