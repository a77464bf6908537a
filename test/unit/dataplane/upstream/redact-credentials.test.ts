/** What a provider echoes of its credential never reaches a caller, however it is written and wherever it is cut. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { redactResponse, secretsInHeaders, secretsInQuery } from '../../../../dataplane/upstream/redact-credentials.ts';
import { SecretValue } from '../../../../dataplane/upstream/upstream.ts';
import type { UpstreamResponse } from '../../../../dataplane/upstream/upstream.ts';
import { readAll, requestOf, startHttp, startUpstreams, targetAt } from './provider.ts';

/** Forms that no pattern of well-known keys finds. */
const SECRETS = [
  '0123456789abcdef0123456789abcdef',
  'token-abc123',
  'gw_live_a7',
  'aVeryLongPassphraseOfLettersAloneByATeam',
  'a/b+c=d1',
  'quote"back\\slash9',
  'pässword-1234',
];

async function* piecesOf(bytes: Buffer, size: number): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const redacted = (text: string, secret: string, size = 7): Promise<string> => {
  const response: UpstreamResponse = { status: 200, headers: {}, body: piecesOf(Buffer.from(text), size) };
  return readAll(redactResponse(response, [secret]).body);
};

describe('a secret in a body', () => {
  for (const secret of SECRETS) {
    const forms = {
      plain: secret,
      JSON: JSON.stringify(secret),
      'JSON with escaped slashes': JSON.stringify(secret).replaceAll('/', String.raw`\/`),
      'a URL': encodeURIComponent(secret),
      Base64: Buffer.from(secret).toString('base64'),
    };
    for (const [name, form] of Object.entries(forms))
      it(`is masked as ${name}: ${form}`, async () => {
        for (const text of [form, `: ${form}\n\n`, `data: {"error":{"message":"Invalid key: ${form}."}}\n\n`]) {
          const whole = await redacted(text, secret, text.length * 4);
          assert.ok(!whole.includes(name === 'Base64' ? form.slice(0, form.length - 4) : form), whole);
          assert.equal(Buffer.byteLength(whole), Buffer.byteLength(text));
          // cut anywhere
          for (let size = 1; size < 20; size++) assert.equal(await redacted(text, secret, size), whole);
        }
      });
  }
  it('is masked each time, also where its beginning repeats', async () => {
    assert.equal(await redacted('abab1abab1abab1 ab', 'abab1abab1', 1), '**********abab1 ab');
    assert.equal(await redacted('token-token-abc123token-abc123', 'token-abc123', 3), 'token-************************');
  });
  it('leaves all other bytes as they are, at once unless they may begin a secret', async () => {
    const sent = Promise.withResolvers<void>();
    async function* body(): AsyncGenerator<Uint8Array, void, undefined> {
      yield Buffer.from('data: 1\n\n');
      yield Buffer.from('tok');
      await sent.promise;
      yield Buffer.from('yo');
    }
    const response = redactResponse({ status: 200, headers: {}, body: body() }, ['token-abc123']);
    const iterator = response.body[Symbol.asyncIterator]();
    const text = async (): Promise<string> => Buffer.from((await iterator.next()).value ?? []).toString();
    assert.equal(await text(), 'data: 1\n\n');
    const rest = text();
    sent.resolve();
    assert.equal(await rest, 'tokyo');
    assert.deepEqual(await iterator.next(), { done: true, value: undefined });
    assert.equal(await redacted('ends with tok', 'token-abc123'), 'ends with tok');
  });
  it('is no placeholder, which models may write', async () => {
    for (const placeholder of ['x', 'EMPTY', 'not-needed', 'lm-studio', 'no-key-required'])
      assert.equal(await redacted(`a ${placeholder} b`, placeholder), `a ${placeholder} b`);
  });
});

it('finds what signs a request in: tokens, and the parts of a signature', () => {
  assert.deepEqual(secretsInHeaders({ authorization: 'Bearer ya29.token', 'x-amz-date': '20260101T000000Z' }), [
    'ya29.token',
  ]);
  const authorization =
    'AWS4-HMAC-SHA256 Credential=ASIA0000/20260101/us-east-1/bedrock/aws4_request, ' +
    'SignedHeaders=host, Signature=00ff';
  assert.deepEqual(secretsInHeaders({ authorization, 'x-amz-security-token': 'session/token==' }), [
    'ASIA0000',
    '00ff',
    'session/token==',
  ]);
  const base = { origin: 'https://provider', prefix: '', query: 'api-version=2024-10-21&key=abc12345' };
  assert.deepEqual(secretsInQuery(base), ['abc12345']);
});

it("masks the credential in a provider's headers and bodies of any status", async () => {
  const secret = '0123456789abcdef0123456789abcdef';
  for (const [header, value] of [
    ['authorization', `Bearer ${secret}`],
    ['api-key', secret],
  ] as const)
    for (const status of [200, 401]) {
      const base = await startHttp((request, response) => {
        response.writeHead(status, { 'x-debug': `key=${secret}`, 'x-own': '1' });
        response.end(`Invalid key: ${String(request.headers[header])}`);
      });
      const target = targetAt(base, { credential: { header, value: new SecretValue(value) } });
      const { headers, body } = await startUpstreams().send(target, requestOf());
      assert.deepEqual([headers['x-debug'], headers['x-own']], [`key=${'*'.repeat(32)}`, '1']);
      assert.equal(await readAll(body), `Invalid key: ${value.replace(secret, '*'.repeat(32))}`);
    }
});

it('aborts the exchange of a body that nobody reads', async () => {
  const gone = Promise.withResolvers<void>();
  const base = await startHttp((_request, response) => {
    response.on('close', gone.resolve);
    response.write('first');
  });
  const credential = { header: 'api-key', value: new SecretValue('0123456789abcdef') };
  const { body } = await startUpstreams().send(targetAt(base, { credential }), requestOf());
  await body[Symbol.asyncIterator]().return?.();
  await gone.promise;
});
