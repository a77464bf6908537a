/**
 * A real Envoy in front of real data planes, configured by the operator's code: the official SDKs call through it,
 * streams stay open, proxies start and stop, and Envoy itself changes nothing in a call.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { WebSocket } from 'ws';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { edgeResources, healthCheckKind } from '../../../operator/xds/envoy/edge.ts';
import type { FleetEndpoint } from '../../../operator/xds/envoy/cluster.ts';
import { createAuthority, issueServing } from '../../../operator/security/certificate-authority.ts';
import { snapshotOf } from '../../unit/contract/snapshot/objects.ts';
import { tempFolder } from '../../support/cli.ts';
import { needEnvoy, startEnvoy } from '../../support/envoy.ts';
import { startGateway } from '../../support/gateway.ts';
import type { TestGateway } from '../../support/gateway.ts';
import { realtimeManifests } from '../../api/realtime/realtime-stack.ts';
import { startRealtimeProvider } from '../../support/realtime-provider.ts';
import type { RealtimeProvider } from '../../support/realtime-provider.ts';
import { freePort } from '../../support/free-port.ts';
import { KEYS, keysManifest, platformManifest } from '../../support/manifests.ts';
import { gate, startMockProvider } from '../../support/mock-provider.ts';
import type { MockProvider } from '../../support/mock-provider.ts';
import { anthropicMessage, gated, insertAt, openaiStream } from '../../support/provider-answers.ts';
import { adminJson, edgeBootstrap, edgePort, eventually } from './envoy-support.ts';
import { testDistribution } from '../../unit/operator/xds/support.ts';
import type { TestDistribution } from '../../unit/operator/xds/support.ts';

const envoy = await needEnvoy();
const ASK = { model: 'gpt-model', messages: [{ role: 'user' as const, content: 'hello' }] };
const MESSAGE = { model: 'claude-model', max_tokens: 100, messages: [{ role: 'user' as const, content: 'hello' }] };

function endpointOf({ dataplane }: TestGateway): FleetEndpoint {
  return { address: '127.0.0.1', port: dataplane.port, healthPort: dataplane.adminPort };
}

function publish(server: TestDistribution, endpoints: readonly FleetEndpoint[], tlsFolder?: string): void {
  const health = healthCheckKind(endpoints, 'Readyz');
  for (const { typeUrl, resources } of edgeResources({
    endpoints,
    health,
    listener: { host: '127.0.0.1', port: 0, tlsFolder },
  }))
    server.publishResources(typeUrl, resources);
  server.publish(snapshotOf());
}

describe.skipIf(envoy.skip)('an Envoy in front of the fleet', { timeout: 180_000 }, () => {
  let openai: MockProvider;
  let realtime: RealtimeProvider;
  let anthropic: MockProvider;
  let first: TestGateway;
  let second: TestGateway;
  let server: TestDistribution;
  let edge: Awaited<ReturnType<typeof startEnvoy>>;
  let url: string;

  beforeAll(async () => {
    [openai, anthropic] = await Promise.all([startMockProvider(), startMockProvider()]);
    realtime = await startRealtimeProvider();
    const files = {
      'keys.yaml': keysManifest(),
      'platform.yaml': platformManifest({ openaiUrl: openai.url, anthropicUrl: anthropic.url }),
      'realtime.yaml': realtimeManifests(realtime.url),
    };
    [first, second] = await Promise.all([startGateway({ files }), startGateway({ files })]);
    server = await testDistribution();
    publish(server, [endpointOf(first), endpointOf(second)]);
    edge = await startEnvoy(envoy.path, edgeBootstrap(server.port));
    url = `http://127.0.0.1:${await edgePort(edge)}`;
    await eventually(async () => (await healthy()) === 2);
  });
  afterAll(async () => {
    await edge?.[Symbol.asyncDispose]();
    await server?.stop();
    await Promise.all([openai, anthropic, realtime].map((each) => each?.stop()));
    await Promise.all([first, second].map((each) => each?.stop()));
  });

  interface Hosts {
    readonly cluster_statuses: readonly {
      readonly name: string;
      readonly host_statuses?: readonly {
        readonly health_status: Readonly<Record<string, unknown>>;
        readonly address: { readonly socket_address: { readonly port_value: number } };
      }[];
    }[];
  }
  async function hosts(): Promise<{ port: number; healthy: boolean }[]> {
    const { cluster_statuses: clusters } = await adminJson<Hosts>(edge, '/clusters?format=json');
    const found = clusters.find(({ name }) => name === 'model-gateway')?.host_statuses ?? [];
    return found.map(({ address, health_status: status }) => ({
      port: address.socket_address.port_value,
      healthy: Object.keys(status).join() === 'eds_health_status',
    }));
  }
  async function healthy(): Promise<number> {
    return (await hosts()).filter((each) => each.healthy).length;
  }
  const openaiSdk = (options = {}): OpenAI =>
    new OpenAI({ apiKey: KEYS.main, baseURL: `${url}/v1`, maxRetries: 0, ...options });
  const anthropicSdk = (): Anthropic => new Anthropic({ apiKey: KEYS.main, baseURL: url, maxRetries: 0 });

  it('accepts its whole configuration', () => {
    assert.equal(server.figures().rejectionsTotal, 0, edge.log());
    assert.doesNotMatch(edge.log(), /deprecat|rejected|error/i);
  });

  it('passes sessions over a WebSocket on, and the refusals of others', async () => {
    const ws = `${url.replace('http', 'ws')}/v1/realtime?model=talker`;
    const socket = new WebSocket(ws, { headers: { authorization: `Bearer ${KEYS.main}` } });
    const [created] = (await once(socket, 'message')) as [Buffer];
    assert.equal(JSON.parse(created.toString('utf8')).session.model, 'talker');
    const session = await realtime.session(0);
    socket.send(JSON.stringify({ type: 'input_audio_buffer.clear' }));
    await session.next('input_audio_buffer.clear');
    socket.close(1000);
    await session.closed;
    const refused = new WebSocket(ws);
    refused.on('error', () => undefined);
    const [, response] = (await once(refused, 'unexpected-response')) as [unknown, { readonly statusCode: number }];
    assert.equal(response.statusCode, 401);
    refused.terminate();
  });

  it('serves SDKs from both proxies, each in its dialect', async () => {
    const seen = new Set<boolean>();
    for (let n = 0; n < 20 || seen.size < 2; n += 1) {
      openai.script(openaiStream(['Good ', 'day.']));
      const before = first.logs.length;
      let text = '';
      for await (const {
        choices: [choice],
      } of await openaiSdk().chat.completions.create({ ...ASK, stream: true }))
        text += choice?.delta.content ?? '';
      assert.equal(text, 'Good day.');
      seen.add(first.logs.length > before);
    }
    anthropic.script(anthropicMessage({ content: 'Good day.' }));
    const { data, response } = await anthropicSdk().messages.create(MESSAGE).withResponse();
    assert.deepEqual(data.content, [{ type: 'text', text: 'Good day.' }]);
    assert.match(response.headers.get('x-request-id') ?? '', /^req_/, "the id is the proxy's");
    assert.deepEqual(
      [...response.headers.keys()].filter((name) => name.startsWith('x-envoy-') || name === 'server'),
      [],
    );
  });

  it('passes events on as they arrive', async () => {
    const wait = gate();
    openai.script(insertAt(openaiStream(['one', 'two']), 2, wait));
    const stream = await openaiSdk().chat.completions.create({ ...ASK, stream: true });
    const iterator = stream[Symbol.asyncIterator]();
    let text = '';
    while (text === '') text += (await iterator.next()).value?.choices[0]?.delta.content ?? '';
    assert.equal(text, 'one');
    wait.open();
    for (let next = await iterator.next(); !next.done; next = await iterator.next())
      text += next.value.choices[0]?.delta.content ?? '';
    assert.equal(text, 'onetwo');
  });

  it("ignores a client's headers for timeouts and retries", async () => {
    const before = anthropic.requests.length;
    const { reply, gate: wait } = gated(anthropicMessage({ content: 'late' }));
    anthropic.script(reply);
    const asked = fetch(`${url}/v1/messages`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-api-key': KEYS.main,
        'x-envoy-upstream-rq-timeout-ms': '1',
        'x-envoy-retry-on': '5xx',
        'x-envoy-max-retries': '5',
      },
      body: JSON.stringify(MESSAGE),
    });
    await eventually(() => Promise.resolve(anthropic.requests.length > before));
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
    wait.open();
    assert.equal((await asked).status, 200);
    assert.equal(anthropic.requests.length, before + 1);
  });

  it('accepts large bodies, and leaves refusals to the proxies', async () => {
    openai.script(openaiStream(['ok']));
    const large = { ...ASK, stream: true, messages: [{ role: 'user', content: 'x'.repeat(8 * 1024 * 1024) }] };
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${KEYS.main}`,
      },
      body: JSON.stringify(large),
    });
    const text = await answer.text();
    assert.equal(answer.status, 200, text);
    await assert.rejects(openaiSdk({ apiKey: 'sk-wrong' }).models.list(), OpenAI.AuthenticationError);
    const missing = await fetch(`${url}/v1//models`, { headers: { authorization: `Bearer ${KEYS.main}` } });
    assert.match(await missing.text(), /\/v1\/\/models/, 'the path arrives as it was sent');
  });

  it('loses no call while a proxy terminates, and streams complete', async () => {
    const wait = gate();
    const held: Promise<string>[] = [];
    const streaming = (): number => [first, second].filter(({ ledger }) => ledger.gauges().holds > 0).length;
    // Envoy's workers take turns each for itself, so that a few streams may all reach the same proxy.
    while (held.length < 4 || streaming() < 2) {
      openai.script(insertAt(openaiStream(['before', ' after']), 2, wait));
      const stream = await openaiSdk().chat.completions.create({ ...ASK, stream: true });
      held.push(
        (async () => {
          let text = '';
          for await (const {
            choices: [choice],
          } of stream)
            text += choice?.delta.content ?? '';
          return text;
        })(),
      );
    }
    publish(server, [endpointOf(second)]);
    await eventually(async () => (await hosts()).map(({ port }) => port).join() === String(second.dataplane.port));
    const drained = first.dataplane.drain();
    for (let n = 0; n < 20; n += 1) {
      anthropic.script(anthropicMessage({ content: 'hello' }));
      assert.equal((await anthropicSdk().messages.create(MESSAGE)).content.length, 1);
    }
    wait.open();
    assert.deepEqual(
      await Promise.all(held),
      held.map(() => 'before after'),
    );
    await drained;
  });

  it('uses another proxy if one cannot be reached, also with whole bodies', async () => {
    const dead = await freePort();
    publish(server, [endpointOf(second), { address: '127.0.0.1', port: dead, healthPort: second.dataplane.adminPort }]);
    await eventually(async () => (await hosts()).some(({ port, healthy: isHealthy }) => port === dead && isHealthy));
    for (let n = 0; n < 24; n += 1) {
      anthropic.script(anthropicMessage({ content: 'hello' }));
      const message = await anthropicSdk().messages.create({
        ...MESSAGE,
        messages: [{ role: 'user', content: 'x'.repeat(n % 2 === 0 ? 10 : 60_000) }],
      });
      assert.equal(message.content.length, 1);
    }
    assert.match(
      await edge.admin('/stats?filter=cluster.model-gateway.upstream.*(retry_success|connect_fail|rq_total)'),
      /upstream_rq_retry_success: [1-9]/,
    );
  });

  it('never retries a call that a proxy has received', async () => {
    let calls = 0;
    const rude = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => {
        calls += 1;
        socket.destroy();
      });
    }).listen(0, '127.0.0.1');
    await once(rude, 'listening');
    publish(server, [
      {
        address: '127.0.0.1',
        port: (rude.address() as AddressInfo).port,
        healthPort: second.dataplane.adminPort,
      },
    ]);
    await eventually(async () => (await hosts()).length === 1 && (await healthy()) === 1);
    const refused = await anthropicSdk()
      .messages.create(MESSAGE)
      .then(
        () => undefined,
        (error: unknown) => error,
      );
    assert.ok(refused instanceof Anthropic.InternalServerError, String(refused));
    assert.deepEqual(
      [refused.status, (refused.error as { error: { type: string } }).error.type, calls],
      [503, 'api_error', 1],
    );
    assert.equal(refused.headers.get('retry-after'), null, 'the proxy may have served and billed it');
    await assert.rejects(
      openaiSdk().chat.completions.create(ASK),
      (error: unknown) => error instanceof OpenAI.InternalServerError && error.code === 'edge_error',
    );
    rude.close();
  });

  it('says when to try again only if nothing of the call was sent, in every dialect', async () => {
    publish(server, [{ address: '127.0.0.1', port: await freePort(), healthPort: second.dataplane.adminPort }]);
    await eventually(async () => (await hosts()).length === 1 && (await healthy()) === 1);
    const body = JSON.stringify({ ...MESSAGE, model: 'gpt-model' });
    const [openai, anthropic, gemini] = [
      { type: 'server_error', param: null, code: 'edge_error' },
      { type: 'api_error' },
      { code: 503, status: 'UNAVAILABLE' },
    ];
    const ofAnthropic = { 'anthropic-version': '2023-06-01' };
    const shapes: readonly [path: string, headers: Record<string, string>, expected: object][] = [
      ['/v1/chat/completions', {}, openai],
      ['/v1/chat/completions', ofAnthropic, anthropic],
      ['/v1/messages', {}, anthropic],
      ['/v1beta/models/gpt-model:generateContent', {}, gemini],
      ['/v1beta/models/gpt-model:generateContent', ofAnthropic, gemini],
    ];
    for (const [path, headers, expected] of shapes) {
      const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body });
      const { error } = (await answer.json()) as { error: { message: string } };
      const { message, ...rest } = error;
      assert.deepEqual([answer.status, answer.headers.get('retry-after'), rest], [503, '1', expected]);
      assert.match(message, /The call was neither sent nor billed/);
    }
  });

  it('serves HTTP/2 and HTTP/1.1 over TLS, with a certificate from its own disk', async () => {
    const authority = await createAuthority(Date.now(), 3_600_000);
    const { certificate, key } = await issueServing(authority, ['localhost'], {
      fromMs: Date.now(),
      untilMs: Date.now() + 3_600_000,
    });
    await using folder = await tempFolder({ 'tls.crt': certificate, 'tls.key': key });
    publish(server, [endpointOf(second)], folder.path);
    const port = await eventually(async () => {
      const found = await edgePort(edge);
      const session = connect(`https://localhost:${found}`, { ca: authority.certificate });
      const works = await Promise.race([
        once(session, 'connect').then(() => true),
        once(session, 'error').then(() => false),
      ]).catch(() => false);
      session.destroy();
      return works && found;
    });
    const session = connect(`https://localhost:${port}`, { ca: authority.certificate });
    const request = session.request({ ':path': '/v1/models', authorization: `Bearer ${KEYS.main}` });
    const [headers] = (await once(request, 'response')) as [Record<string, unknown>];
    request.resume();
    await once(request, 'end');
    session.close();
    assert.equal(headers[':status'], 200);
    assert.equal(server.figures().rejectionsTotal, 0, edge.log());
  });
});
