/** Sessions over WebSockets through the sidecar: with OpenAI's SDK to a whole gateway, and in front of a scripted fleet. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, it, vi } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { freePort } from '../../../support/free-port.ts';
import { KEYS } from '../../../support/manifests.ts';
import { usage } from '../../../support/realtime-provider.ts';
import { manual, open, recordOf, startRealtimeStack } from '../../../api/realtime/realtime-stack.ts';
import type { RealtimeStack } from '../../../api/realtime/realtime-stack.ts';
import { replyTo, startTestSidecar } from './support.ts';
import type { Reply, TestSidecar } from './support.ts';

const MIB = 1024 * 1024;
const DUMMY = 'model-gateway-sidecar';

const HANDSHAKE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

/** Asks for an upgrade that is refused. */
function refused({ url }: Pick<TestSidecar, 'url'>, query: string, headers: object = {}): Promise<Reply> {
  const asked = httpRequest(`${url}/v1/realtime${query}`, { agent: false, headers: { ...HANDSHAKE, ...headers } });
  asked.end();
  return replyTo(asked);
}

function codeOf({ text }: Reply): unknown {
  return (JSON.parse(text) as { error: { code: unknown } }).error.code;
}

describe('a session through the sidecar', () => {
  let stack: RealtimeStack;
  let sidecar: TestSidecar;
  beforeAll(async () => {
    stack = await startRealtimeStack();
    sidecar = await startTestSidecar(`https://localhost:${stack.tlsPort}`, KEYS.main, stack.certificate);
  });
  afterAll(async () => {
    await sidecar.stop();
    await stack.stop();
  });

  it("is opened by OpenAI's SDK without a key, billed to the pod's key, and closed as the gateway does", async () => {
    const both = await open(stack, { key: DUMMY, sidecarPort: sidecar.port });
    const { talk, provider } = both;
    assert.ok(!JSON.stringify(provider.headers).includes(DUMMY));
    await manual(both);
    talk.send({ type: 'response.create' });
    await provider.next('response.create');
    provider.respond('resp_1', 'hello', usage(10, 5));
    assert.equal((await talk.next('response.output_text.delta'))['delta'], 'hello');
    await talk.next('response.done');
    provider.close(1000, 'enough');
    assert.deepEqual(await talk.closed, { code: 1000, reason: 'enough' });
    const record = await recordOf(stack, talk);
    assert.deepEqual([record.cost_usd, record.status], ['0.00012', 'Succeeded']);
    assert.equal(await sidecar.metric('modelgateway_sidecar_requests_in_flight'), 0);
    const ended = 'modelgateway_sidecar_requests_total{result="answered",status="101"}';
    assert.equal(await sidecar.metric(ended), 1);
  });

  it("is opened with an app's key as a subprotocol, which is not passed on", async () => {
    const count = stack.provider.count;
    const socket = new globalThis.WebSocket(`${sidecar.url.replace('http', 'ws')}/v1/realtime?model=talker`, [
      'realtime',
      `openai-insecure-api-key.${DUMMY}`,
    ]);
    await once(socket, 'open');
    assert.equal(socket.protocol, 'realtime');
    const provider = await stack.provider.session(count);
    socket.close();
    await provider.closed;
  });

  it('is refused as HTTP by the gateway and by the sidecar, on connections that are closed', async () => {
    const unknown = await refused(sidecar, '?model=nothing');
    assert.deepEqual([unknown.status, codeOf(unknown)], [404, 'model_not_found']);
    assert.equal(unknown.message.headers.connection, 'close');
    const page = await refused(sidecar, '?model=talker', { origin: 'https://evil.example' });
    assert.deepEqual([page.status, codeOf(page)], [400, 'not_allowed']);
    const client = connect({ port: sidecar.port, host: '127.0.0.1', allowHalfOpen: true }).resume();
    const head = Object.entries(HANDSHAKE).map(([name, value]) => `${name}: ${value}\r\n`);
    client.write(`GET /v1/realtime HTTP/1.1\r\nHost: localhost\r\n${head.join('')}\r\n`);
    await once(client, 'end');
    client.destroy();
  });

  it('is refused without a key, and if no fleet can be reached', async () => {
    const lost = await startTestSidecar(`http://127.0.0.1:${await freePort()}`, undefined);
    try {
      assert.deepEqual((await refused(lost, '?model=talker')).status, 503);
      await lost.writeKey(KEYS.main);
      const reply = await refused(lost, '?model=talker');
      assert.deepEqual([reply.status, codeOf(reply)], [502, 'upstream_error']);
    } finally {
      await lost.stop();
    }
  });
});

describe('an upgraded connection', () => {
  const ends: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end();
  });

  interface Scene {
    readonly sidecar: TestSidecar;
    readonly app: WebSocket;
    readonly fleet: WebSocket;
    readonly fleetSocket: Socket;
    readonly headers: IncomingHttpHeaders;
  }

  async function scene(): Promise<Scene> {
    const server = createServer();
    const sockets = new WebSocketServer({ noServer: true });
    const upgraded = Promise.withResolvers<Pick<Scene, 'fleet' | 'fleetSocket' | 'headers'>>();
    server.on('upgrade', (request: IncomingMessage, socket, head) =>
      sockets.handleUpgrade(request, socket, head, (fleet) =>
        upgraded.resolve({ fleet, fleetSocket: request.socket, headers: request.headers }),
      ),
    );
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const sidecar = await startTestSidecar(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, KEYS.main);
    const app = new WebSocket(`${sidecar.url.replace('http', 'ws')}/any/path?x=1`, {
      headers: { authorization: 'Bearer dummy', 'x-api-key': 'dummy' },
    });
    app.on('error', () => undefined);
    const [given] = await Promise.all([upgraded.promise, once(app, 'open')]);
    ends.push(
      () => new Promise((resolve) => server.close(resolve)),
      () => sidecar.stop(),
      () => Promise.resolve(app.terminate()),
    );
    return { sidecar, app, ...given };
  }

  it("has the pod's key in place of the app's credentials", async () => {
    const { headers } = await scene();
    assert.equal(headers.authorization, `Bearer ${KEYS.main}`);
    assert.equal(headers['x-api-key'], undefined);
  });

  it('counts as a busy connection until it ends', async () => {
    const { sidecar, app, fleet } = await scene();
    const busy = 'modelgateway_sidecar_connections{state="busy"}';
    assert.equal(await sidecar.metric(busy), 1);
    fleet.close();
    await once(app, 'close');
    await vi.waitFor(async () => assert.equal(await sidecar.metric(busy), 0));
  });

  it('slows down the end that sends, in both directions, and loses nothing', async () => {
    const { app, fleet } = await scene();
    for (const [from, to] of [
      [app, fleet],
      [fleet, app],
    ] as const) {
      to.pause();
      for (let count = 0; count < 64; count++) from.send(Buffer.alloc(MIB, count));
      let before = Number.NaN;
      while (from.bufferedAmount !== before) {
        before = from.bufferedAmount;
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
      assert.ok(from.bufferedAmount > 32 * MIB, `${from.bufferedAmount} bytes wait at their sender`);
      const all = Promise.withResolvers<void>();
      let received = 0;
      to.on('message', (data: Buffer) => {
        assert.equal(data[0], received++);
        if (received === 64) all.resolve();
      });
      to.resume();
      await all.promise;
    }
  });

  it('ends with either end, also one that breaks off', async () => {
    const first = await scene();
    first.app.terminate();
    await once(first.fleet, 'close');
    const second = await scene();
    second.fleetSocket.resetAndDestroy();
    const [code] = (await once(second.app, 'close')) as [number];
    assert.equal(code, 1006);
    await second.sidecar.stop();
    ends.splice(-2, 1);
    const cut = 'modelgateway_sidecar_requests_total{result="cut",status="101"}';
    assert.equal(await second.sidecar.metric(cut), 1);
  });

  it('is waited for by a sidecar that stops', async () => {
    const { sidecar, app, fleet } = await scene();
    let isStopped = false;
    const stopped = sidecar.sidecar.drain().then(() => {
      isStopped = true;
    });
    fleet.send('still there');
    const [message] = (await once(app, 'message')) as [Buffer];
    assert.equal(String(message), 'still there');
    assert.equal(isStopped, false);
    fleet.close(1001);
    const [code] = (await once(app, 'close')) as [number];
    assert.equal(code, 1001);
    await stopped;
    ends.splice(-2, 1);
  });
});
