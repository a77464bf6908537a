/** Cases that fuzzing has found: unusual requests and providers, and the responses to them. */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { KEYS } from '../../support/manifests.ts';
import { readAnswers } from '../../fuzz/answers.ts';
import type { HttpAnswer } from '../../fuzz/answers.ts';
import { answerBytes, honestAnswer, honestReply } from '../../fuzz/honest.ts';
import type { ProviderAnswer, ProviderRequest } from '../../fuzz/provider.ts';
import { openScene } from '../../fuzz/scene.ts';
import type { Scene } from '../../fuzz/scene.ts';

let scene: Scene;
let answer: (request: ProviderRequest) => ProviderAnswer | Promise<ProviderAnswer> = honestAnswer;

beforeAll(async () => {
  scene = await openScene({ answer: (request) => answer(request) });
});
afterEach(async () => {
  answer = honestAnswer;
  await scene.calm();
});
afterAll(() => scene.close());

const KEY = `Authorization: Bearer ${KEYS.main}\r\n`;

function call(path: string, body: Record<string, unknown> = {}, headers = ''): string {
  const text = JSON.stringify({
    model: 'gpt-model',
    max_tokens: 10,
    messages: [{ role: 'user', content: 'x' }],
    ...body,
  });
  return (
    `POST ${path} HTTP/1.1\r\nHost: gateway\r\n${KEY}${headers}Content-Type: ` +
    `application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
  );
}

/** Sends this, disconnects after some responses or when the server closes, and returns what was received. */
async function send(
  text: string,
  count = 1,
): Promise<{ answers: readonly HttpAnswer[]; text: string; closed: boolean }> {
  const socket = connect({ port: scene.port, host: '127.0.0.1' });
  const got: Buffer[] = [];
  socket.on('error', () => undefined);
  socket.write(Buffer.from(text, 'latin1'));
  const closed = await new Promise<boolean>((resolve) => {
    socket.once('close', () => resolve(true));
    socket.on('data', (data: Buffer) => {
      got.push(data);
      if (readAnswers(Buffer.concat(got)).answers.filter(({ whole }) => whole).length >= count) resolve(false);
    });
  });
  socket.destroy();
  const { answers, fault } = readAnswers(Buffer.concat(got));
  assert.equal(fault, undefined);
  return { answers, text: Buffer.concat(got).toString('latin1'), closed };
}

async function only(text: string): Promise<HttpAnswer & { readonly json: Record<string, unknown> }> {
  const {
    answers: [first = assert.fail('no answer')],
  } = await send(text);
  return { ...first, json: JSON.parse(first.body.toString('utf8')) as Record<string, unknown> };
}

describe('unusual requests', () => {
  it('are not refused for an unknown Expect header', async () => {
    assert.equal((await only(call('/v1/chat/completions', {}, 'Expect: something\r\n'))).status, 200);
  });

  it('get 100 Continue when the body is wanted', async () => {
    const whole = call('/v1/chat/completions', {}, 'Expect: 100-continue\r\n');
    const { text } = await send(whole);
    assert.match(text, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
  });

  it('upload nothing after a refusal instead of 100 Continue, and their connection ends', async () => {
    const { text, closed } = await send(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nAuthorization: ` +
        `Bearer sk-nobody\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\n`,
      2,
    );
    assert.match(text, /^HTTP\/1\.1 401 /);
    assert.match(text, /\r\nconnection: close\r\n/i);
    assert.ok(closed);
  });

  it('get no 100 Continue within the response before', async () => {
    const { answers } = await send(
      `${call('/v1/chat/completions')}${call('/v1/chat/completions', {}, 'Expect: 100-continue\r\n')}`,
      2,
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200],
    );
  });

  it('are refused in their dialect without a host', async () => {
    const { status, json } = await only(
      `GET /v1/messages HTTP/1.1\r\n${KEY}\r\n`.replace('GET /v1/messages', 'POST /v1/messages'),
    );
    assert.equal(status, 400);
    assert.equal(json['type'], 'error');
  });

  for (const target of ['http://gateway/v1/messages', '/v1/%6dessages', '/v1/messages#x'])
    it(`get an error in Anthropic's dialect at ${target}`, async () => {
      const { json } = await only(call(target, { messages: 5 }));
      assert.equal(json['type'], 'error');
    });

  it('are refused in the dialect of the path if the body is not HTTP', async () => {
    const { status, json } = await only(
      `POST /v1/messages HTTP/1.1\r\nHost: gateway\r\n${KEY}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
    );
    assert.equal(status, 400);
    assert.equal(json['type'], 'error');
    assert.ok(typeof json['request_id'] === 'string');
  });

  it('are refused and logged in full if the request line has no version', async () => {
    const { status } = await only(
      'PRI /pricing/x\r\nHost: gateway\r\nContent-Type: ' +
        'application/json\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    );
    assert.ok(status >= 400 && status < 500);
    // the scene reads each line as JSON
  });

  it('get no response within another one for bytes that are not HTTP behind a call', async () => {
    const begun = Promise.withResolvers<void>();
    answer = (request) => {
      begun.resolve();
      return { pieces: [answerBytes(honestReply(request)).subarray(0, 700)], end: 'stall' };
    };
    const socket = connect({ port: scene.port, host: '127.0.0.1' });
    socket.write(call('/v1/chat/completions', { stream: true }));
    await begun.promise;
    const first = await new Promise<Buffer>((resolve) => {
      socket.once('data', resolve);
    });
    socket.write('this is not HTTP\r\n\r\n');
    const rest = await new Promise<Buffer>((resolve) => {
      const got: Buffer[] = [first];
      socket.on('data', (data: Buffer) => got.push(data));
      socket.once('close', () => resolve(Buffer.concat(got)));
    });
    assert.doesNotMatch(rest.toString('latin1').slice(10), /HTTP\/1\.1/);
  });

  it('are dropped with their connection if they are pipelined, also before CONNECT', async () => {
    const both = Promise.withResolvers<void>();
    let arrived = 0;
    answer = () =>
      new Promise<ProviderAnswer>(() => {
        if (++arrived === 2) both.resolve();
      });
    const socket = connect({ port: scene.port, host: '127.0.0.1' });
    socket.on('error', () => undefined);
    const body = call('/v1/chat/completions', { stream: true });
    socket.write(body + body);
    await both.promise;
    socket.write('CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n');
    await new Promise((resolve) => {
      socket.once('close', resolve);
    });
    // scene.calm checks that nothing is held and no response is open
  });

  it('have no body read without a known key, whatever the path', async () => {
    const { status } = await only(
      'POST /nothing HTTP/1.1\r\nHost: gateway\r\nContent-Length: 50000000\r\n\r\nbut it does not come',
    );
    assert.equal(status, 404);
  });
});

describe('bodies that are refused while they arrive', () => {
  it('leave a reusable connection', async () => {
    const piece = `${(2 ** 20).toString(16)}\r\n${'x'.repeat(2 ** 20)}\r\n`;
    const { answers } = await send(
      `POST /v1/messages HTTP/1.1\r\nHost: gateway\r\n${KEY}Transfer-Encoding: ` +
        `chunked\r\n\r\n${piece.repeat(70)}0\r\n\r\n${call('/v1/messages')}`,
      2,
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      [413, 200],
    );
  });
});

describe('unusual providers', () => {
  const answering = (bytes: (request: ProviderRequest) => Buffer): void => {
    answer = (request) => ({ pieces: [bytes(request)], end: 'fin' });
  };

  it("have their stream's content type corrected", async () => {
    for (const type of [undefined, 'text/plain']) {
      answering((request) => {
        const { headers: _headers, ...reply } = honestReply(request);
        const bytes = answerBytes(reply)
          .toString('latin1')
          .replace('content-type: application/json\r\n', type === undefined ? '' : `content-type: ${type}\r\n`);
        return Buffer.from(bytes, 'latin1');
      });
      const {
        answers: [first],
      } = await send(call('/v1/chat/completions', { stream: true }));
      assert.match(first?.headers.get('content-type') ?? '', /^text\/event-stream/);
    }
  });

  for (const status of ['204 No Content', '205 Reset Content'])
    it(`cost nothing with an invalid status ${status}`, async () => {
      answering((request) => answerBytes(honestReply(request), { status }));
      for (const stream of [false, true])
        assert.equal((await only(call('/v1/chat/completions', { stream }))).status, 502);
      assert.ok([...scene.money.values()].every(({ settled }) => settled?.record.costNanoUsd === 0n));
    });
});

describe('clients that are deliberately slow', () => {
  it('have a minute for the headers and five for a request', async () => {
    const found = Promise.withResolvers<Server>();
    const accepted = (message: unknown): void => {
      const { socket } = message as { socket: Socket & { server?: Server } };
      if (socket.localPort === scene.port && socket.server) found.resolve(socket.server);
    };
    subscribe('net.server.socket', accepted);
    await only(call('/v1/chat/completions'));
    unsubscribe('net.server.socket', accepted);
    const server = await found.promise;
    assert.equal(server.headersTimeout, 60_000);
    assert.equal(server.requestTimeout, 300_000);
  });

  it('get an error when their time is over', async () => {
    const server = Promise.withResolvers<Server>();
    const accepted = (message: unknown): void => {
      const { socket } = message as { socket: Socket & { server?: Server } };
      if (socket.localPort !== scene.port || !socket.server) return;
      server.resolve(socket.server);
      // Node's behaviour after its timeout
      setImmediate(() =>
        socket.server?.emit(
          'clientError',
          Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }),
          socket,
        ),
      );
    };
    subscribe('net.server.socket', accepted);
    const { status, headers } = await only('POST /v1/messages HTTP/1.1\r\nHost: ga');
    unsubscribe('net.server.socket', accepted);
    assert.equal(status, 408);
    assert.equal(headers.get('connection'), 'close');
  });
});
