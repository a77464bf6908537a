/** Connections through forward proxies: those of the environment, and those of channels. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import { inspect } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, it } from 'vitest';
import {
  InvalidForwardProxy,
  forwardProxyOf,
  placesOf,
  readForwardProxies,
} from '../../../../dataplane/upstream/forward-proxy.ts';
import { connectErrorOf, SecretValue, UpstreamFailure } from '../../../../dataplane/upstream/upstream.ts';
import { startConnectProxy } from '../../../support/connect-proxy.ts';
import type { ConnectProxy } from '../../../support/connect-proxy.ts';
import { failsWith, readAll, requestOf, startHttp, startRaw, startUpstreams, targetAt, text } from './provider.ts';
import { createSelfSignedCertificate } from './self-signed.ts';

const identity = createSelfSignedCertificate('provider.test');
const ca = [identity.cert];
let sockets = 0;
let most = 0;
let running = 0;
const held: (() => void)[] = [];
const provider = createServer(identity, (request, response) => {
  most = Math.max(most, ++running);
  response.once('close', () => running--);
  if (request.url === '/stream') response.writeHead(200).write('data: 1\n\n');
  else if (request.url === '/held') held.push(() => response.end('held'));
  else response.end(`${request.headers.host} ${request.headers['proxy-authorization'] ?? 'no credential'}`);
});
provider.on('secureConnection', () => sockets++);
let port = 0;
let proxy: ConnectProxy;

beforeAll(async () => {
  provider.listen(0, '127.0.0.1');
  await once(provider, 'listening');
  const address = provider.address();
  port = typeof address === 'object' && address ? address.port : 0;
});
beforeEach(async () => {
  proxy = await startConnectProxy();
  [sockets, most] = [0, 0];
});
afterAll(() => {
  provider.closeAllConnections();
  provider.close();
});

/** The same address under a name that only the forward proxy knows. */
const elsewhere = (url: string): string => url.replace('127.0.0.1', 'provider.test');

const throughEnvironment = (variables: Record<string, string>): ReturnType<typeof startUpstreams> =>
  startUpstreams({ ca, proxies: readForwardProxies(variables) });

/** What became of a call that must fail to connect. */
async function codeOf(sent: Promise<unknown>): Promise<string> {
  const failure = await sent.then(
    () => assert.fail('served'),
    (error: unknown) => error,
  );
  assert.ok(failure instanceof UpstreamFailure);
  assert.equal(failure.kind, 'Connect');
  assert.equal(failure.sent, false);
  assert.doesNotMatch(inspect(failure, { depth: 9 }), /s3cret|c2VjcmV0|czNjcmV0/);
  return connectErrorOf(failure);
}

describe("a channel's forward proxy", () => {
  it('makes a tunnel to an https provider, whose certificate is verified', async () => {
    const upstreams = startUpstreams({ ca });
    const target = targetAt(`https://provider.test:${port}`, { proxyUrl: proxy.url });
    const response = await upstreams.send(target, requestOf());
    assert.equal(await readAll(response.body), `provider.test:${port} no credential`);
    assert.deepEqual(proxy.asked, [`provider.test:${port}`]);
    const elsewhere = targetAt(`https://other.test:${port}`, { proxyUrl: proxy.url });
    assert.equal(await codeOf(upstreams.send(elsewhere, requestOf())), 'ERR_TLS_CERT_ALTNAME_INVALID');
    const untrusting = startUpstreams().send(target, requestOf());
    assert.equal(await codeOf(untrusting), 'DEPTH_ZERO_SELF_SIGNED_CERT');
  });

  it('makes a tunnel to an http provider too, and resolves its name', async () => {
    const base = await startHttp((request, response) => response.end(request.headers.host));
    const { port: itsPort } = new URL(base);
    const target = targetAt(`http://provider.test:${itsPort}/v1`, { proxyUrl: `${proxy.url}/` });
    const response = await startUpstreams().send(target, requestOf());
    assert.equal(await readAll(response.body), `provider.test:${itsPort}`);
    assert.deepEqual([proxy.asked, proxy.forwarded], [[`provider.test:${itsPort}`], []]);
  });

  it('comes before the environment and its NO_PROXY', async () => {
    const upstreams = throughEnvironment({ HTTPS_PROXY: 'http://127.0.0.1:1', NO_PROXY: '*' });
    const target = targetAt(`https://provider.test:${port}`, { proxyUrl: proxy.url });
    await readAll((await upstreams.send(target, requestOf())).body);
    assert.equal(proxy.asked.length, 1);
  });

  it('keeps connections alive, and opens one for each call in flight', async () => {
    const upstreams = startUpstreams({ ca });
    const target = targetAt(`https://provider.test:${port}`, { proxyUrl: proxy.url });
    for (let calls = 0; calls < 5; calls++) await readAll((await upstreams.send(target, requestOf())).body);
    // a connection rests for a turn of the event loop before it is used again, so a second one may be opened
    assert.ok(sockets <= 2, `${sockets} connections`);
    const sent = Array.from({ length: 12 }, () => upstreams.send(target, requestOf({ path: '/held' })));
    while (held.length < 12) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(most, 12);
    for (const release of held.splice(0)) release();
    for (const response of await Promise.all(sent)) assert.equal(await readAll(response.body), 'held');
    assert.ok(sockets <= 13, `${sockets} connections`);
  });

  it('bounds headers and idle connections as without one', async () => {
    const huge = await startRaw((socket) =>
      socket.write(`HTTP/1.1 200 OK\r\nx-huge: ${'a'.repeat(64 * 1024)}\r\n\r\n`),
    );
    const upstreams = startUpstreams({ ca });
    await assert.rejects(
      upstreams.send(targetAt(elsewhere(huge), { proxyUrl: proxy.url }), requestOf()),
      failsWith('Reset'),
    );
    const idle = await startRaw((socket) =>
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\nkeep-alive: timeout=3\r\n\r\nok'),
    );
    await readAll((await upstreams.send(targetAt(elsewhere(idle), { proxyUrl: proxy.url }), requestOf())).body);
    while (proxy.open.size > 0) await new Promise((resolve) => setTimeout(resolve, 10));
  });

  it('passes streams on as they come, and an abort closes the tunnel', async () => {
    const left = new AbortController();
    const target = targetAt(`https://provider.test:${port}`, { proxyUrl: proxy.url });
    const response = await startUpstreams({ ca }).send(
      target,
      requestOf({ path: '/stream', stream: true, signal: left.signal }),
    );
    const iterator = response.body[Symbol.asyncIterator]();
    assert.equal(text(await iterator.next()), 'data: 1\n\n');
    left.abort();
    await assert.rejects(iterator.next(), failsWith('Aborted'));
    while (proxy.open.size > 0) await new Promise((resolve) => setImmediate(resolve));
  });

  it('that breaks off within a response cuts it', async () => {
    const target = targetAt(`https://provider.test:${port}`, { proxyUrl: proxy.url });
    const response = await startUpstreams({ ca }).send(target, requestOf({ path: '/stream', stream: true }));
    const iterator = response.body[Symbol.asyncIterator]();
    await iterator.next();
    proxy.cut();
    await assert.rejects(iterator.next(), failsWith('Cut'));
  });

  it('that refuses, does not answer or cannot be reached is told from the provider', async () => {
    const target = targetAt(`https://provider.test:${port}`, { proxyUrl: proxy.url, timeouts: { connectMs: 300 } });
    for (const status of [403, 407, 502]) {
      proxy.status = status;
      assert.equal(await codeOf(startUpstreams({ ca }).send(target, requestOf())), `PROXY_${status}`);
    }
    proxy.status = 0;
    assert.equal(await codeOf(startUpstreams({ ca }).send(target, requestOf())), 'PROXY_UND_ERR_HEADERS_TIMEOUT');
    const nowhere = targetAt(`https://provider.test:${port}`, { proxyUrl: 'http://127.0.0.1:1' });
    assert.equal(await codeOf(startUpstreams({ ca }).send(nowhere, requestOf())), 'PROXY_ECONNREFUSED');
    const broken = await startRaw((socket) => socket.end());
    const breaks = targetAt(`https://provider.test:${port}`, { proxyUrl: broken });
    assert.equal(await codeOf(startUpstreams({ ca }).send(breaks, requestOf())), 'PROXY_UND_ERR_SOCKET');
  });

  it('is no longer waited for once the call is aborted', async () => {
    proxy.status = 0;
    const left = new AbortController();
    const target = targetAt(`https://provider.test:${port}`, { proxyUrl: proxy.url, timeouts: { connectMs: 500 } });
    const sent = startUpstreams({ ca }).send(target, requestOf({ signal: left.signal }));
    while (proxy.asked.length === 0) await new Promise((resolve) => setImmediate(resolve));
    left.abort();
    await assert.rejects(sent, failsWith('Aborted'));
  });
});

describe("the environment's forward proxies", () => {
  it('serve every channel, with the credential that only they get', async () => {
    const url = `http://gateway:s3cret@127.0.0.1:${proxy.port}`;
    for (const variables of [{ HTTPS_PROXY: url }, { https_proxy: url }, { HTTP_PROXY: url }]) {
      const base = await startHttp((request, response) =>
        response.end(request.headers['proxy-authorization'] ?? 'no credential'),
      );
      const http = targetAt(`http://provider.test:${new URL(base).port}`);
      const upstreams = throughEnvironment({ ...variables, http_proxy: url });
      assert.equal(await readAll((await upstreams.send(http, requestOf())).body), 'no credential');
      const https = targetAt(`https://provider.test:${port}`);
      assert.equal(
        await readAll((await upstreams.send(https, requestOf())).body),
        `provider.test:${port} no credential`,
      );
    }
    assert.equal(proxy.asked.length, 6);
    const basic = `Basic ${Buffer.from('gateway:s3cret').toString('base64')}`;
    assert.ok(proxy.credentials.every((each) => each === basic));
    proxy.status = 407;
    const refused = throughEnvironment({ HTTPS_PROXY: url });
    assert.equal(await codeOf(refused.send(targetAt(`https://provider.test:${port}`), requestOf())), 'PROXY_407');
  });

  it('are not used for the hosts of NO_PROXY', async () => {
    const upstreams = throughEnvironment({ HTTPS_PROXY: proxy.url, NO_PROXY: '.invalid, other.test' });
    for (const host of ['provider.invalid', 'invalid', 'other.test'])
      assert.match(await codeOf(upstreams.send(targetAt(`https://${host}`), requestOf())), /^(?:ENOTFOUND|EAI_AGAIN)$/);
    assert.deepEqual(proxy.asked, []);
  });

  it('are read once, and their credentials are not shown', () => {
    const proxies = readForwardProxies({ HTTPS_PROXY: 'http://me:s3cret@proxy.test:3128/', no_proxy: 'a.test' });
    assert.ok(proxies);
    assert.deepEqual(
      { ...placesOf(proxies), except: proxies.except.split(',')[0] },
      {
        http: '',
        https: 'http://proxy.test:3128',
        except: 'a.test',
      },
    );
    assert.equal(readForwardProxies({ NO_PROXY: 'a.test', HTTPS_PROXY: '' }), undefined);
    const paths = ['http://s3cret.test/corp', 'http://s3cret.test/?a', 'http://a%4:1b@s3cret.test'];
    for (const value of [...paths, 'proxy.test:3128', 'socks5://s3cret.test', 'http://%zz@s3cret.test', 's3cret'])
      assert.throws(
        () => readForwardProxies({ https_proxy: value }),
        (error) =>
          error instanceof InvalidForwardProxy &&
          error.message.startsWith('HTTPS_PROXY: ') &&
          !/s3cret/.test(error.message),
      );
  });
});

it('no forward proxy leads to this machine or to a metadata server', async () => {
  const base = await startHttp((_request, response) => response.end('direct'));
  const shared = [{}, { NO_PROXY: 'example.com' }, { no_proxy: '' }].map((variables) =>
    throughEnvironment({ HTTP_PROXY: proxy.url, ...variables }),
  );
  for (const [upstreams, changes] of [
    ...shared.map((each) => [each, {}] as const),
    [startUpstreams(), { proxyUrl: proxy.url }] as const,
  ]) {
    for (const url of [base, base.replace('127.0.0.1', 'localhost')])
      assert.equal(await readAll((await upstreams.send(targetAt(url, changes), requestOf())).body), 'direct');
    const code = await codeOf(upstreams.send(targetAt('http://[::1]:1', changes), requestOf()));
    assert.ok(!code.startsWith('PROXY_'), code);
  }
  assert.deepEqual(proxy.asked, []);
  for (const proxies of [forwardProxyOf(proxy.url), readForwardProxies({ HTTP_PROXY: proxy.url, NO_PROXY: 'a.test' })])
    for (const host of [
      '169.254.169.254',
      '169.254.170.2',
      '169.254.170.23',
      'fd00:ec2::254',
      'metadata.google.internal',
    ])
      assert.ok(proxies?.except.split(',').includes(host), host);
});

describe('a token service', () => {
  const signIn = (url: string) =>
    ({
      way: 'AzureEntra',
      tenantId: 'tenant',
      clientId: 'client',
      scope: 'scope',
      authority: url,
      credential: new SecretValue('client-secret'),
    }) as const;

  it("is asked through the channel's forward proxy, and through the environment's", async () => {
    const tokens = await startHttp((_request, response) =>
      response.end(JSON.stringify({ access_token: 'token', expires_in: 3600 })),
    );
    const service = `http://tokens.test:${new URL(tokens).port}`;
    const base = await startHttp((request, response) => response.end(request.headers.authorization));
    const provider = `http://provider.test:${new URL(base).port}`;
    const changes = { credential: undefined, signIn: signIn(service) };
    for (const [upstreams, target] of [
      [startUpstreams(), targetAt(provider, { ...changes, proxyUrl: proxy.url })],
      [startUpstreams({ proxies: readForwardProxies({ HTTP_PROXY: proxy.url }) }), targetAt(provider, changes)],
    ] as const)
      assert.equal(await readAll((await upstreams.send(target, requestOf())).body), 'Bearer token');
    const both = [new URL(service).host, new URL(provider).host];
    assert.deepEqual(proxy.asked, [...both, ...both]);
    proxy.status = 407;
    const refused = startUpstreams().send(targetAt(provider, { ...changes, proxyUrl: proxy.url }), requestOf());
    await assert.rejects(refused, (error) => {
      assert.ok(error instanceof UpstreamFailure);
      assert.deepEqual([error.kind, connectErrorOf(error)], ['SignIn', 'SIGN_IN:PROXY_407']);
      return true;
    });
  });

  it('of this machine is asked directly, whatever forward proxy the channel has', async () => {
    const tokens = await startHttp((_request, response) =>
      response.end(JSON.stringify({ access_token: 'token', expires_in: 3600 })),
    );
    const base = elsewhere(await startHttp((_request, response) => response.end('served')));
    const target = targetAt(base, { credential: undefined, signIn: signIn(tokens), proxyUrl: proxy.url });
    await readAll((await startUpstreams().send(target, requestOf())).body);
    assert.deepEqual(proxy.asked, [new URL(base).host]);
  });
});
