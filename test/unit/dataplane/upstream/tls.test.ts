import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import { afterAll, beforeAll, test } from 'vitest';
import { UpstreamFailure } from '../../../../dataplane/upstream/upstream.ts';
import { readAll, requestOf, startUpstreams, targetAt } from './provider.ts';
import { createSelfSignedCertificate } from './self-signed.ts';

const identity = createSelfSignedCertificate();
let calls = 0;
const server = createServer(identity, (_request, response) => {
  calls++;
  response.end('over TLS');
});
let port = 0;
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  port = typeof address === 'object' && address ? address.port : 0;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const isConnect = (error: unknown): boolean => error instanceof UpstreamFailure && error.kind === 'Connect';

test('a provider with an untrusted certificate is not called', async () => {
  await assert.rejects(startUpstreams().send(targetAt(`https://localhost:${port}`), requestOf()), isConnect);
  assert.equal(calls, 0);
});

test('a certificate of a trusted authority for this name is accepted, for another name it is not', async () => {
  const upstreams = startUpstreams({ ca: [identity.cert] });
  const answer = await upstreams.send(targetAt(`https://localhost:${port}`), requestOf());
  assert.equal(await readAll(answer.body), 'over TLS');
  await assert.rejects(upstreams.send(targetAt(`https://127.0.0.1:${port}`), requestOf()), isConnect);
  assert.equal(calls, 1);
});
