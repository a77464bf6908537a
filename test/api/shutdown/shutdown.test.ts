/** SIGTERM: no new calls, running ones end and are recorded, exit code 0; a second signal exits at once. */
import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, it, vi } from 'vitest';
import { startTestStack } from '../../support/api/test-stack.ts';
import { KEYS } from '../../support/manifests.ts';
import { gate } from '../../support/mock-provider.ts';
import { gated, insertAt, openaiChat } from '../../support/provider-answers.ts';
import { assertBalanced, readBooks } from '../../support/api/books.ts';
import { ask, nanoUsd, usage } from '../../support/api/client.ts';
import { eventually } from '../../support/api/process.ts';
import type { GatewayProcess } from '../../support/api/process.ts';
import { answerNumbered, createScene, keyOf, numberedCall } from '../../support/api/scene.ts';
import type { Scene } from '../../support/api/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await createScene({ keys: [{ name: 'one' }], creditUsd: '100' });
});
afterAll(() => scene.remove());
afterEach(() => scene.provider.clear());

const KEY = keyOf('one');
const OPENAI_STREAM = numberedCall(0);
const OPENAI_WHOLE = numberedCall(1);
const ANTHROPIC_STREAM = numberedCall(2);

async function readiness(gateway: GatewayProcess): Promise<number> {
  return (await fetch(`${gateway.adminUrl}/readyz`)).status;
}

describe('SIGTERM', () => {
  it('refuses new calls, completes and settles running streams, and exits with 0', async () => {
    const gateway = await scene.home.start();
    const waiting = [gate(), gate(), gate()];
    scene.provider.script((request, index) => insertAt(answerNumbered(request), index === 2 ? 0 : 2, waiting[index]!));
    const calls = [OPENAI_STREAM, ANTHROPIC_STREAM, OPENAI_WHOLE];
    const running = [];
    for (const [index, call] of calls.entries()) {
      running.push(ask(gateway.url, { ...call, key: KEY }));
      await waiting[index]!.reached;
    }
    gateway.signal('SIGTERM');
    await eventually('the gateway says that it is not ready', async () => (await readiness(gateway)) === 503);
    for (const call of calls) {
      const refused = await ask(gateway.url, { ...call, key: KEY });
      assert.ok(refused.status === 0 || refused.status === 503, `a new call got ${refused.status}`);
      if (refused.status === 503) assert.match(refused.text, /shutting down/);
    }
    assert.equal(scene.provider.requests.length, calls.length, 'a new call reached the provider');
    for (const each of waiting) each.open();
    const seen = await Promise.all(running);
    for (const each of seen) assert.ok(each.ended && each.status === 200, each.text);
    // idle connections of clients do not delay the exit
    assert.equal(await gateway.exited, 0);
    const books = readBooks(scene.home.dataDir);
    assert.deepEqual(books.holds, []);
    assertBalanced(books);
    for (const [index, each] of seen.entries()) {
      const record = books.records.find(({ id }) => id === each.id);
      assert.deepEqual([record?.status, record?.costNanoUsd], ['Succeeded', calls[index]!.costNanoUsd]);
    }
  });

  it('serves requests on existing connections, and closes them', async () => {
    const gateway = await scene.home.start();
    const waiting = gate();
    scene.provider.script((request, index) =>
      insertAt(answerNumbered(request), index === 1 ? 2 : 0, index === 1 ? waiting : ''),
    );
    const kept = new Agent({ keepAlive: true, maxSockets: 1 });
    const before = await whole(gateway, kept);
    assert.deepEqual([before.status, before.connection], [200, 'keep-alive']);
    const running = ask(gateway.url, { ...OPENAI_STREAM, key: KEY });
    await waiting.reached;
    gateway.signal('SIGTERM');
    await eventually('the gateway says that it is not ready', async () => (await readiness(gateway)) === 503);
    const late = await whole(gateway, kept);
    assert.deepEqual([late.status, late.connection], [200, 'close']);
    const next = await whole(gateway, kept);
    assert.deepEqual([next.status, next.connection], [503, 'close']);
    waiting.open();
    assert.ok((await running).ended);
    assert.equal(await gateway.exited, 0);
    kept.destroy();
    assertBalanced(readBooks(scene.home.dataDir));
  });

  it('waits for calls whose clients have disconnected, and bills their exact usage', async () => {
    const gateway = await scene.home.start();
    const waiting = gate();
    scene.provider.script((request) => ({ ...answerNumbered(request), beforeHead: [waiting] }));
    const leaving = new AbortController();
    const asked = ask(gateway.url, { ...OPENAI_WHOLE, key: KEY, signal: leaving.signal });
    await waiting.reached;
    const held = readBooks(scene.home.dataDir).holds[0];
    leaving.abort();
    await asked;
    gateway.signal('SIGTERM');
    await eventually('the gateway drains', async () => (await readiness(gateway)) === 503);
    waiting.open();
    assert.equal(await gateway.exited, 0);
    const record = readBooks(scene.home.dataDir).records.find(({ id }) => id === held?.id);
    assert.deepEqual([record?.status, record?.costNanoUsd], ['ClientClosed', OPENAI_WHOLE.costNanoUsd]);
  });

  it('waits for a response that its client is still reading', async () => {
    const gateway = await scene.home.start();
    // more than the kernel buffers for a client that does not read
    const content = 'x'.repeat(7 * 2 ** 20);
    scene.provider.script(openaiChat({ content, usage: { prompt_tokens: 100, completion_tokens: 20 } }));
    const { answer, id } = await untilHead(gateway, OPENAI_WHOLE.body);
    assert.ok(
      readBooks(scene.home.dataDir).records.some((record) => record.id === id),
      'the head came before the settlement',
    );
    gateway.signal('SIGTERM');
    await eventually('the gateway drains', async () => (await readiness(gateway)) === 503);
    let text = '';
    for await (const piece of answer.setEncoding('utf8')) text += String(piece);
    assert.ok(text.includes(content), `cut after ${text.length} characters`);
    assert.equal(await gateway.exited, 0);
  });

  it('does not wait for connections without a call', async () => {
    const gateway = await scene.home.start();
    const { port, hostname } = new URL(gateway.url);
    const sockets = [
      '',
      'POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\n',
      `GET /v1/key HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${KEY}\r\n\r\n`,
    ].map((text) => {
      const socket = connect(Number(port), hostname, () => {
        socket.write(text);
      });
      return {
        socket,
        closed: new Promise<void>((resolve) => {
          socket.once('close', () => resolve()).on('error', () => undefined);
        }),
      };
    });
    await new Promise((resolve) => {
      sockets[2]!.socket.once('data', resolve);
    });
    assert.equal(await gateway.terminate(), 0);
    for (const { socket, closed } of sockets) await closed.finally(() => socket.destroy());
  });

  it('exits at once when sent twice, and running calls are billed at their last progress', async () => {
    const first = await scene.home.start();
    const { reply, gate: waiting } = gated(answerNumbered(await firstRequest(first)));
    scene.provider.script(reply);
    const asked = ask(first.url, { ...OPENAI_STREAM, key: KEY });
    await waiting.reached;
    let ended = false;
    void first.exited.then(() => {
      ended = true;
    });
    // Ctrl-C reaches a process twice: signals within half a second count as one
    await eventually('the second signal ends it', () => {
      if (!ended) first.signal('SIGTERM');
      return ended;
    });
    assert.equal(await first.exited, 1);
    assert.equal((await asked).ended, false);
    const [hold] = readBooks(scene.home.dataDir).holds;
    assert.ok(hold);
    const second = await scene.home.start();
    const { body } = await usage(second.url, KEY, hold.id);
    assert.deepEqual([body.status, nanoUsd(body.cost_usd)], ['Abandoned', hold.costNanoUsd]);
    assert.ok(hold.costNanoUsd > 0n);
    await second.terminate();
  });

  /** A call that does not stream, on an agent's connection. */
  function whole(
    gateway: GatewayProcess,
    agent: Agent,
  ): Promise<{ status: number | undefined; connection: string | undefined }> {
    return new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${KEY}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(JSON.stringify(OPENAI_WHOLE.body)),
      };
      request(`${gateway.url}/v1/chat/completions`, { method: 'POST', agent, headers }, (answer) => {
        answer
          .resume()
          .once('end', () => resolve({ status: answer.statusCode, connection: answer.headers.connection }));
      })
        .once('error', reject)
        .end(JSON.stringify(OPENAI_WHOLE.body));
    });
  }

  /** A call whose response's headers have arrived, and whose body is unread. */
  function untilHead(gateway: GatewayProcess, body: unknown): Promise<{ answer: IncomingMessage; id: unknown }> {
    return new Promise((resolve, reject) => {
      const sent = request(
        `${gateway.url}/v1/chat/completions`,
        {
          method: 'POST',
          headers: { authorization: `Bearer ${KEY}` },
        },
        (answer) => resolve({ answer, id: answer.headers['x-request-id'] }),
      );
      sent.once('error', reject).end(JSON.stringify(body));
    });
  }

  /** A request as the provider sees it. */
  async function firstRequest(gateway: GatewayProcess): Promise<Parameters<typeof answerNumbered>[0]> {
    scene.provider.script(answerNumbered);
    await ask(gateway.url, { ...OPENAI_STREAM, key: KEY });
    return scene.provider.request(0);
  }
});

describe('draining', () => {
  it('takes as long as the running calls', async () => {
    const stack = await startTestStack();
    const waiting = gate();
    stack.openai.script((request) => insertAt(answerNumbered(request), 2, waiting));
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const asked = ask(stack.gateway.url, { ...OPENAI_STREAM, key: KEYS.main });
    await waiting.reached;
    const drained = stack.gateway.dataplane.drain();
    // timeouts of closing get a minute; the provider may be silent for longer
    for (let second = 0; second < 60; second++) {
      vi.advanceTimersByTime(1_000);
      await new Promise(setImmediate);
    }
    waiting.open();
    const seen = await asked;
    assert.ok(seen.ended, seen.text);
    await drained;
    vi.useRealTimers();
    await stack.stop();
  });
});
