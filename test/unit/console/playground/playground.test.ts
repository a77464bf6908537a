/** The playground's requests to the gateway: the key, what it forwards, and what it never reveals. */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { createConsoleFixture } from '../../../support/console-access.ts';
import { ANNA, keysIn, keysStand, PLATFORM, TENANTS } from '../keys/stand.ts';
import { cookiesOf, csrfIn, FORM_HEADERS, signIn } from '../stand.ts';

const KEY = `sk-${'k'.repeat(48)}`;
const PROMPT = 'what nobody else may read';
const CALL = { path: '/v1/chat/completions', body: JSON.stringify({ model: 'gpt-5', messages: [PROMPT] }) };

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly authorization: string | undefined;
  readonly body: string;
}

describe('the playground', () => {
  const seen: Seen[] = [];
  let answer: (response: ServerResponse) => void = () => undefined;
  let gateway: Server;
  let gatewayUrl = '';

  beforeAll(async () => {
    gateway = createServer((call, response) => {
      void text(call).then((body) => {
        const {
          method,
          url,
          headers: { authorization },
        } = call;
        seen.push({ method, url, authorization, body });
        answer(response);
      });
    }).listen(0, '127.0.0.1');
    await once(gateway, 'listening');
    gatewayUrl = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    gateway.closeAllConnections();
    gateway.close();
  });

  function open(options: { readonly gatewayUrl?: string | undefined } = { gatewayUrl }) {
    const world = createConsoleFixture([...PLATFORM, ...TENANTS]);
    const ciBot = world.apiKey('team-a', 'ci-bot');
    world.put({ ...ciBot, status: { ...ciBot.status, keyHash: hash('sha256', KEY, 'hex') } });
    return keysStand({ world, keys: keysIn(world), ...options });
  }
  type Opened = ReturnType<typeof open>;

  async function post({ app }: Opened, url: string, fields: Readonly<Record<string, string>>, token = ANNA.name) {
    const cookie = await signIn(app, token);
    const page = await app.inject({ url: '/playground', headers: { ...FORM_HEADERS, cookie } });
    const csrf = csrfIn(page.body);
    return app.inject({
      method: 'POST',
      url,
      headers: { ...FORM_HEADERS, cookie: cookiesOf(page) || cookie },
      payload: new URLSearchParams({ csrf, ...fields }).toString(),
    });
  }

  it('forwards a call with the pasted key, and returns the response and headers', async () => {
    const stand = open();
    answer = (response) =>
      response
        .writeHead(429, {
          'content-type': 'application/json',
          'x-request-id': 'req_1',
          'set-cookie': 'a=b',
          'x-secret': 'c',
        })
        .end('{"error":{"message":"This key has used up its quota."}}');
    const { statusCode, headers, body } = await post(stand, '/playground/calls', { key: ` ${KEY} `, ...CALL });
    assert.deepEqual(seen.splice(0), [
      { method: 'POST', url: CALL.path, authorization: `Bearer ${KEY}`, body: CALL.body },
    ]);
    assert.equal(statusCode, 429);
    assert.equal(headers['x-request-id'], 'req_1');
    assert.deepEqual([headers['set-cookie'], headers['x-secret']], [undefined, undefined]);
    assert.match(body, /used up its quota/);
  });

  it('lets people paste a key where they see none, and search where they see many', async () => {
    const pageOf = async (world: ReturnType<typeof createConsoleFixture>): Promise<string> => {
      const { browser } = keysStand({ world, gatewayUrl });
      return (await (await browser(ANNA)).get('/playground')).markup;
    };
    const none = await pageOf(createConsoleFixture([...PLATFORM]));
    assert.match(none, /id="pg-no-key"[\s\S]*id="pg-key-field" *>/);
    assert.doesNotMatch(none, /id="pg-ref"/);
    const world = createConsoleFixture([...PLATFORM, ...TENANTS]);
    const known = world.apiKey('team-a', 'ci-bot');
    for (let index = 0; index < 201; index++)
      world.put({ ...known, metadata: { ...known.metadata, name: `key-${index}`, uid: `uid-${index}` } });
    const many = await pageOf(world);
    assert.match(many, /<input id="pg-ref" list="pg-refs"[\s\S]*<option value="team-a\/key-200"><\/option>/);
    assert.match(many, /id="pg-key-field" *>/);
    for (let index = 201; index < 700; index++)
      world.put({ ...known, metadata: { ...known.metadata, name: `key-${index}`, uid: `uid-${index}` } });
    assert.equal((await pageOf(world)).match(/<option value="team-a\//g)?.length, 500);
  });

  it('knows the models whose videos cost by the second', async () => {
    const catalog = {
      apiVersion: 'modelgateway.dev/v1alpha1',
      kind: 'PriceCatalog',
      metadata: { namespace: 'model-gateway', name: 'videos' },
      spec: { models: [{ name: 'sora-2', vendor: 'OpenAI', quotaType: 'Request', perSecondUsd: '0.1' }] },
    };
    const { browser } = keysStand({ world: createConsoleFixture([...PLATFORM, ...TENANTS, catalog]), gatewayUrl });
    const { markup } = await (await browser(ANNA)).get('/playground');
    assert.match(markup, /data-by-second="\[&quot;sora-2&quot;\]"/);
    assert.match(markup, /id="pg-seconds-field" hidden/);
  });

  it('never renders a response as a page of its own', async () => {
    answer = (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<script>1</script>');
    const { headers } = await post(open(), '/playground/models', { key: KEY });
    assert.equal(headers['content-type'], 'application/json; charset=utf-8');
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.deepEqual(
      seen.splice(0).map(({ method, url }) => [method, url]),
      [['GET', '/v1/models']],
    );
  });

  it('calls with the chosen key if the person can read it, or with that of the session', async () => {
    answer = (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    const stand = open();
    const minted = stand.world.mint('team-a', 'ci-bot');
    await post(stand, '/playground/usage', { ref: 'team-a/ci-bot', id: 'req_1' });
    assert.deepEqual(
      seen.splice(0).map(({ url, authorization }) => [url, authorization]),
      [['/v1/usage/req_1', `Bearer ${minted}`]],
    );
    const theirs = await post(stand, '/playground/models', { ref: 'team-b/secret-project' });
    assert.equal(theirs.statusCode, 422);
    assert.match(theirs.body, /Paste it instead/);
    const holder = await post(open(), '/playground/models', { ref: 'team-b/secret-project' }, KEY);
    assert.equal(holder.statusCode, 200);
    assert.deepEqual(
      seen.splice(0).map(({ authorization }) => authorization),
      [`Bearer ${KEY}`],
    );
  });

  it('accepts only its own calls, forms and keys', async () => {
    const stand = open();
    for (const fields of [
      { key: KEY, path: '/v1/files', body: '{}' },
      { key: KEY, path: '/v1/messages', body: '' },
      { ...CALL, key: 'a b' },
      { ...CALL, key: 'schlüssel' },
      CALL,
      { ...CALL, ref: 'team-a' },
      { ...CALL, ref: 'a/b/c' },
    ])
      assert.equal((await post(stand, '/playground/calls', fields)).statusCode, 422, JSON.stringify(fields));
    for (const url of ['/playground/usage', '/playground/videos'])
      assert.equal((await post(stand, url, { key: KEY, id: '../../keys' })).statusCode, 422);
    assert.equal((await post(stand, '/playground/calls', { ...CALL, key: KEY, csrf: 'other' })).statusCode, 403);
    const large = await post(stand, '/playground/calls', { ...CALL, key: KEY, body: 'x'.repeat(300_000) });
    assert.equal(large.statusCode, 413);
    const bare = await stand.app.inject({
      method: 'POST',
      url: '/playground/calls',
      headers: FORM_HEADERS,
      payload: '',
    });
    assert.equal(bare.statusCode, 401);
    assert.deepEqual(seen, []);
  });

  it('reports that the gateway does not respond, or that its address is not configured', async () => {
    const nobody = open({ gatewayUrl: 'http://127.0.0.1:1' });
    const { statusCode, body } = await post(nobody, '/playground/calls', { key: KEY, ...CALL });
    assert.equal(statusCode, 502);
    assert.match(body, /The gateway does not answer the console at http:\/\/127\.0\.0\.1:1\./);
    const unset = open({ gatewayUrl: undefined });
    const cookie = await signIn(unset.app, ANNA.name);
    const page = await unset.app.inject({ url: '/playground', headers: { ...FORM_HEADERS, cookie } });
    assert.match(page.body, /--console-gateway-url https:[^<]*<\/code>[\s\S]*console\.gatewayUrl/);
    assert.doesNotMatch(page.body, /id="playground-form"/);
    for (const logged of [nobody.logged, unset.logged]) assert.doesNotMatch(JSON.stringify(logged), /sk-k|nobody else/);
  });

  it('gets a video and its content, never as a page', async () => {
    answer = (response) => response.writeHead(200, { 'content-type': 'video/mp4; x="a b"' }).end('film');
    await post(open(), '/playground/videos', { key: KEY, id: 'video_1' });
    const { headers, body } = await post(open(), '/playground/videos', { key: KEY, id: 'video_1', content: 'yes' });
    assert.deepEqual([headers['content-type'], body], ['video/mp4', 'film']);
    assert.deepEqual(
      seen.splice(0).map(({ method, url }) => [method, url]),
      [
        ['GET', '/v1/videos/video_1'],
        ['GET', '/v1/videos/video_1/content'],
      ],
    );
  });

  it('forwards events as they arrive, and aborts the call when the browser disconnects', async () => {
    const stand = open();
    const gone = Promise.withResolvers<void>();
    answer = (response) => {
      response.once('close', () => gone.resolve());
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' }).write('data: {"first":1}\n\n');
    };
    await stand.app.listen({ host: '127.0.0.1', port: 0 });
    const url = `http://127.0.0.1:${(stand.app.server.address() as AddressInfo).port}`;
    const cookie = await signIn(stand.app, ANNA.name);
    const page = await stand.app.inject({ url: '/playground', headers: { ...FORM_HEADERS, cookie } });
    const browser = request(`${url}/playground/calls`, {
      method: 'POST',
      headers: { ...FORM_HEADERS, cookie, 'accept-encoding': 'gzip' },
    });
    browser.end(new URLSearchParams({ csrf: csrfIn(page.body), key: KEY, ...CALL }).toString());
    const [response] = (await once(browser, 'response')) as [IncomingMessage];
    assert.equal(response.headers['content-type'], 'text/event-stream');
    assert.equal(response.headers['content-encoding'], undefined);
    const [first] = (await once(response, 'data')) as [Buffer];
    assert.equal(first.toString(), 'data: {"first":1}\n\n');
    browser.destroy();
    await gone.promise;
    await stand.app.close();
    assert.doesNotMatch(JSON.stringify(stand.logged), /sk-k|nobody else/);
  });
});
